"""GET /spec: LibreTranslate's dialect as a Swagger 2.0 document, which its tools read.

/openapi.json describes the whole server, by OpenAPI 3.1, and the same routes in more detail.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

Field: TypeAlias = tuple[str, str, bool]
"""Name, description, and whether it is required."""

_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_TRUTH = {"type": "boolean"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/definitions/{name}"}


_DEFINITIONS: dict[str, Any] = {
    "error-response": _object(error=_TEXT),
    "error-slow-down": _object(error=_TEXT),
    "translate": _object(
        translatedText=_TEXT | {"description": "a list for a list"},
        detectedLanguage=_ref("detection") | {"description": "with source auto"},
        alternatives=_list(_TEXT),
    ),
    "translate-file": _object(translatedFileUrl=_TEXT),
    "detection": _object(confidence=_NUMBER, language=_TEXT),
    "detections": _list(_ref("detection")),
    "language": _object(code=_TEXT, name=_TEXT, targets=_list(_TEXT)),
    "languages": _list(_ref("language")),
    "health": _object(status=_TEXT),
    "frontend-settings": _object(
        apiKeys=_TRUTH,
        charLimit=_NUMBER,
        filesTranslation=_TRUTH,
        frontendTimeout=_NUMBER,
        keyRequired=_TRUTH,
        language=_object(
            source=_object(code=_TEXT, name=_TEXT), target=_object(code=_TEXT, name=_TEXT)
        ),
        suggestions=_TRUTH,
        supportedFilesFormat=_list(_TEXT),
    ),
}
_ERRORS = {
    400: "Invalid request",
    403: "The API key is unknown, or the quota is used up",
    413: "Body too large",
    429: "Slow down",
    500: "Translation error",
    503: "The server is starting or stopping",
    504: "The answer took too long",
}

_Q = ("q", "Text to translate; in JSON also a list of texts", True)
_SOURCE = ("source", "Source language code, or auto to detect it", True)
_TARGET = ("target", "Target language code", True)
_FORMAT = ("format", "text (default) or html", False)
_ALTERNATIVES = ("alternatives", "Number of further translations, 0 to 7", False)
_KEY = ("api_key", "API key, if the server requires one", False)


def swagger(title: str, version: str, base_path: str, suffixes: Iterable[str]) -> dict[str, Any]:
    """Return the document.

    base_path  the prefix of its paths, "/" by default
    suffixes   of the files that POST /translate_file accepts
    """
    detect = _post("Detect the language of a text", "detections", [_Q, _KEY])
    fields = [_Q, _SOURCE, _TARGET, _FORMAT, _ALTERNATIVES, _KEY]
    translate = _post("Translate a text", "translate", fields)
    suggest = _post("Suggestions, which this server does not store", None, [], (403,))
    translate_file = _post("Translate a file", "translate-file", [_SOURCE, _TARGET, _KEY])
    translate_file["post"]["consumes"] = ["multipart/form-data"]
    file = {"name": "file", "in": "formData", "type": "file", "required": True}
    file["description"] = "one of " + ", ".join(suffixes)
    translate_file["post"]["parameters"].insert(0, file)
    return {
        "swagger": "2.0",
        "info": {"title": f"{title}: LibreTranslate's dialect", "version": version},
        "basePath": base_path,
        "paths": {
            "/detect": detect,
            "/frontend/settings": _get("Settings of a front end", "frontend-settings"),
            "/health": _get("Whether the server accepts requests", "health"),
            "/languages": _get("Source languages with their targets", "languages"),
            "/suggest": suggest,
            "/translate": translate,
            "/translate_file": translate_file,
        },
        "definitions": _DEFINITIONS,
    }


def _get(summary: str, model: str) -> dict[str, Any]:
    responses = _responses(model, (503,))
    return {"get": {"summary": summary, "produces": ["application/json"], "responses": responses}}


def _post(
    summary: str, model: str | None, fields: Sequence[Field], errors: Iterable[int] = _ERRORS
) -> dict[str, Any]:
    described = {"in": "formData", "type": "string"}
    operation = {
        "summary": summary,
        "consumes": ["application/x-www-form-urlencoded", "application/json"],
        "produces": ["application/json"],
        "parameters": [
            {"name": name, "description": description, "required": required} | described
            for name, description, required in fields
        ],
        "responses": _responses(model, errors),
    }
    return {"post": operation}


def _responses(model: str | None, errors: Iterable[int]) -> dict[str, Any]:
    found = {"200": {"description": "Success", "schema": _ref(model)}} if model else {}
    for status in errors:
        name = "error-slow-down" if status == 429 else "error-response"
        found[str(status)] = {"description": _ERRORS[status], "schema": _ref(name)}
    return found
