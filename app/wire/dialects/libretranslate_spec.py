"""GET /spec: LibreTranslate's dialect as a Swagger 2.0 document, which its tools read.

/openapi.json describes the whole server, by OpenAPI 3.1, and the same routes in more detail.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_FORMS = ["application/x-www-form-urlencoded", "application/json"]
_Q = ("q", "Text to translate; in JSON also a list of texts", True)
_KEY = ("api_key", "API key, if the server requires one", False)
_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_TRUTH = {"type": "boolean"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/definitions/{name}"}


DEFINITIONS: dict[str, Any] = {
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


def swagger(title: str, version: str, base_path: str, suffixes: Iterable[str]) -> dict[str, Any]:
    """Return the document.

    base_path  the prefix of its paths, "/" by default
    suffixes   of the files that POST /translate_file accepts
    """
    return {
        "swagger": "2.0",
        "info": {"title": f"{title}: LibreTranslate's dialect", "version": version},
        "basePath": base_path,
        "paths": _PATHS | {"/translate_file": _file(suffixes)},
        "definitions": DEFINITIONS,
    }


def _get(summary: str, model: str, *errors: int) -> dict[str, Any]:
    return {
        "get": {
            "summary": summary,
            "produces": ["application/json"],
            "responses": _responses(model, *errors),
        }
    }


def _post(
    summary: str, model: str | None, *fields: tuple[str, str, bool], errors: tuple[int, ...]
) -> dict[str, Any]:
    return {
        "post": {
            "summary": summary,
            "consumes": _FORMS,
            "produces": ["application/json"],
            "parameters": [
                {
                    "name": name,
                    "in": "formData",
                    "type": "string",
                    "description": description,
                    "required": required,
                }
                for name, description, required in fields
            ],
            "responses": _responses(model, *errors),
        }
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


def _responses(model: str | None, *errors: int) -> dict[str, Any]:
    found = {"200": {"description": "Success", "schema": _ref(model)}} if model else {}
    for status in errors:
        name = "error-slow-down" if status == 429 else "error-response"
        found[str(status)] = {"description": _ERRORS[status], "schema": _ref(name)}
    return found


_SOURCE = ("source", "Source language code, or auto to detect it", True)
_TARGET = ("target", "Target language code", True)
_ALL = (400, 403, 413, 429, 500, 503, 504)

_PATHS: dict[str, Any] = {
    "/detect": _post("Detect the language of a text", "detections", _Q, _KEY, errors=_ALL),
    "/frontend/settings": _get("Settings of a front end", "frontend-settings", 503),
    "/health": _get("Whether the server accepts requests", "health", 503),
    "/languages": _get("Source languages with their targets", "languages", 503),
    "/suggest": _post("Suggestions, which this server does not store", None, errors=(403,)),
    "/translate": _post(
        "Translate a text",
        "translate",
        _Q,
        _SOURCE,
        _TARGET,
        ("format", "text (default) or html", False),
        ("alternatives", "Number of further translations, 0 to 7", False),
        _KEY,
        errors=_ALL,
    ),
}


def _file(suffixes: Iterable[str]) -> dict[str, Any]:
    described = _post("Translate a file", "translate-file", _SOURCE, _TARGET, _KEY, errors=_ALL)
    operation = described["post"]
    operation["consumes"] = ["multipart/form-data"]
    file = {"name": "file", "in": "formData", "type": "file", "required": True}
    operation["parameters"].insert(0, file | {"description": "one of " + ", ".join(suffixes)})
    return described
