"""The parts of /openapi.json that FastAPI does not derive from the routes."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.wire.dialects.deepl import DeepLError, DeepLRequest
from app.wire.dialects.deepl_documents import DocumentKey, DocumentRequest
from app.wire.dialects.deepl_glossaries import DeepLGlossaryRequest, DictionaryRequest
from app.wire.dialects.deepl_multilingual import GlossaryChanges, MultilingualGlossaryRequest
from app.wire.dialects.libretranslate import (
    LibreTranslateAnswer,
    LibreTranslateDetectRequest,
    LibreTranslateError,
    LibreTranslateRequest,
)
from app.wire.examples import (
    DEEPL_EXAMPLE,
    DEEPL_GLOSSARY_EXAMPLE,
    DEEPL_MULTILINGUAL_EXAMPLE,
    DETECT_REQUEST_EXAMPLES,
    EVENT_EXAMPLE,
    EXPLAIN_REQUEST_EXAMPLES,
    SCORE_REQUEST_EXAMPLES,
    TRANSLATE_ANSWER_EXAMPLES,
    TRANSLATE_REQUEST_EXAMPLES,
)
from app.wire.failures import FORMS, LIBRETRANSLATE_PATHS, SHARED_PATHS
from app.wire.native.answers import SegmentEvent, TokenEvent, TranslateAnswer
from app.wire.native.detect_request import DetectRequest
from app.wire.native.explain_request import ExplainRequest
from app.wire.native.fields import AttentionRequest
from app.wire.native.score_request import ScoreRequest
from app.wire.native.translate_request import TranslateRequest
from app.wire.problems import MEDIA_TYPE, Problem
from app.wire.request_id import REQUEST_ID

_REF = "#/components/schemas/{model}"
_READ: tuple[type[BaseModel], ...] = (
    TranslateRequest, AttentionRequest, DetectRequest, LibreTranslateRequest,
    LibreTranslateDetectRequest, DeepLRequest, DeepLGlossaryRequest, ScoreRequest, ExplainRequest,
    DocumentRequest, DocumentKey, DictionaryRequest, MultilingualGlossaryRequest, GlossaryChanges,
)  # fmt: skip
_ANSWERED: tuple[type[BaseModel], ...] = (Problem, TokenEvent, SegmentEvent)

Responses = dict[int | str, dict[str, Any]]
"""By status, for FastAPI's `responses`."""


def _schema(*models: str) -> dict[str, Any]:
    refs = [{"$ref": _REF.format(model=model)} for model in models]
    return {"schema": refs[0] if len(refs) == 1 else {"anyOf": refs}}


def _body(*models: str, form: str | None = None, **examples: Any) -> dict[str, Any]:
    """Describe a body in JSON and, in some dialects, as a form.

    By hand, since routes read bodies themselves: with a limit on size, and errors with pointers.
    """
    content = {"application/json": _schema(*models) | examples}
    if form:
        content |= {media_type: _schema(form) for media_type in FORMS}
    return {"required": True, "content": content}


TRANSLATE_REQUEST_BODY = _body(
    "TranslateRequest", "LibreTranslateRequest",
    form="LibreTranslateRequest", examples=TRANSLATE_REQUEST_EXAMPLES,
)  # fmt: skip
DETECT_REQUEST_BODY = _body(
    "DetectRequest", "LibreTranslateDetectRequest",
    form="LibreTranslateDetectRequest", examples=DETECT_REQUEST_EXAMPLES,
)  # fmt: skip
SCORE_REQUEST_BODY = _body("ScoreRequest", examples=SCORE_REQUEST_EXAMPLES)
EXPLAIN_REQUEST_BODY = _body("ExplainRequest", examples=EXPLAIN_REQUEST_EXAMPLES)
DEEPL_REQUEST_BODY = _body("DeepLRequest", form="DeepLRequest", example=DEEPL_EXAMPLE)
DEEPL_GLOSSARY_REQUEST_BODY = _body(
    "DeepLGlossaryRequest", form="DeepLGlossaryRequest", example=DEEPL_GLOSSARY_EXAMPLE
)
# Forms name the fields of a dictionary as OpenAPI cannot: dictionaries[0].source_lang.
DEEPL_MULTILINGUAL_REQUEST_BODY = _body(
    "MultilingualGlossaryRequest", example=DEEPL_MULTILINGUAL_EXAMPLE
)
DEEPL_GLOSSARY_CHANGES_BODY = _body("GlossaryChanges")
DEEPL_DICTIONARY_REQUEST_BODY = _body("DictionaryRequest", form="DictionaryRequest")
DEEPL_DOCUMENT_KEY_BODY = _body("DocumentKey", form="DocumentKey")
DEEPL_DOCUMENT_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        FORMS[1]: {
            "schema": {
                "allOf": [
                    _schema("DocumentRequest")["schema"],
                    {
                        "type": "object",
                        "required": ["file"],
                        "properties": {"file": {"type": "string", "format": "binary"}},
                    },
                ]
            }
        }
    },
}


def _parameter(name: str, place: str) -> dict[str, Any]:
    return {"name": name, "in": place, "required": True, "schema": {"type": "string"}}


def _in_path(name: str) -> dict[str, Any]:
    return {"parameters": [_parameter(name, "path")]}


DEEPL_GLOSSARY_PATH = _in_path("glossary_id")
DEEPL_DOCUMENT_PATH = _in_path("document_id")
DEEPL_DOCUMENT_DELETION = {
    "parameters": [_parameter("document_id", "path"), _parameter("document_key", "query")]
}
DEEPL_DICTIONARY_PARAMETERS = {
    "parameters": [
        _parameter("glossary_id", "path"),
        _parameter("source_lang", "query"),
        _parameter("target_lang", "query"),
    ]
}
DOWNLOAD_PATH = _in_path("name")
DEEPL_LANGUAGES_PARAMETERS = [
    {
        "name": "type",
        "in": "query",
        "schema": {"type": "string", "enum": ["source", "target"], "default": "source"},
    }
]


def _event(name: str, model: str) -> dict[str, Any]:
    data = {"type": "string", "contentMediaType": "application/json"}
    return {
        "type": "object",
        "required": ["event", "data"],
        "properties": {
            "event": {"const": name},
            "data": {**data, "contentSchema": _schema(model)["schema"]},
        },
    }


EVENT_STREAM: dict[str, Any] = {
    "itemSchema": {  # OpenAPI 3.2; tools for 3.1 ignore it
        "description": "With stream: true. The data of each event is one line of JSON; the last "
        "event is done or error.",
        "oneOf": [
            _event("token", "TokenEvent"),
            _event("segment", "SegmentEvent"),
            _event("done", "TranslateAnswer"),
            _event("error", "Problem"),
        ],
    },
    "example": EVENT_EXAMPLE,
}


def _phrase(status: int) -> str:
    return "Quota Exceeded" if status == 456 else HTTPStatus(status).phrase


def problem_answers(*statuses: int) -> Responses:
    """Return problem documents as responses of a route, for FastAPI's `responses`."""
    content = {MEDIA_TYPE: _schema("Problem")}
    return {status: {"description": _phrase(status), "content": content} for status in statuses}


def libretranslate_errors(*statuses: int) -> Responses:
    """As `problem_answers`, in LibreTranslate's form."""
    return _errors(LibreTranslateError, statuses)


def deepl_errors(*statuses: int) -> Responses:
    """As `problem_answers`, in DeepL's form."""
    return _errors(DeepLError, statuses)


def _errors(model: type[BaseModel], statuses: Sequence[int]) -> Responses:
    return {status: {"description": _phrase(status), "model": model} for status in statuses}


_OF_BOTH = (400, 403, 413, 415, 429, 500, 503, 504)
LIBRETRANSLATE_OR_NATIVE_ERRORS: Responses = {
    **problem_answers(401, 404, 422),
    **{
        status: response | {"model": LibreTranslateError}
        for status, response in problem_answers(*_OF_BOTH).items()
    },
}
TRANSLATE_ANSWERS: Responses = {
    200: {
        "model": TranslateAnswer | LibreTranslateAnswer,
        "content": {
            "application/json": {"examples": TRANSLATE_ANSWER_EXAMPLES},
            "text/event-stream": EVENT_STREAM,
        },
    },
    **LIBRETRANSLATE_OR_NATIVE_ERRORS,
}

OPEN_PATHS = frozenset(
    {
        "/livez",
        "/readyz",
        "/startupz",
        "/metrics",
        "/health",
        "/languages",
        "/frontend/settings",
        "/spec",
        "/suggest",
        "/download_file/{name}",
    }
)
"""Paths that never require a key."""

REQUEST_ID_PARAMETER = {
    "name": REQUEST_ID,
    "in": "header",
    "description": "identifies the request in logs, errors and the response; generated if absent",
    "schema": {"type": "string"},
}

SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "deepl": {
        "type": "apiKey", "in": "header", "name": "Authorization",
        "description": "DeepL-Auth-Key, a space and the key",
    },
    "libretranslate": {
        "type": "apiKey", "in": "query", "name": "api_key", "description": "or in the body",
    },
}  # fmt: skip


def describe(app: FastAPI) -> dict[str, Any]:
    """Return FastAPI's document, with the schemas of bodies that the routes read themselves."""
    document = get_openapi(
        title=app.title, version=app.version, summary=app.summary, routes=app.routes
    )
    _, definitions = models_json_schema(
        [
            *((model, "validation") for model in _READ),
            *((model, "serialization") for model in _ANSWERED),
        ],
        ref_template=_REF,
    )
    components = document.setdefault("components", {})
    components.setdefault("schemas", {}).update(definitions["$defs"])
    components["securitySchemes"] = SECURITY_SCHEMES
    for path in document["paths"].keys() - OPEN_PATHS:
        for operation in document["paths"][path].values():
            operation["security"] = _security(path, is_needed=app.state.keys.needed)
            operation.setdefault("parameters", []).append(REQUEST_ID_PARAMETER)
            _name_forms(operation, components["schemas"])
    return document


FORM_SUFFIXES = dict(zip(FORMS, ("Form", "Multipart"), strict=True))
"""Suffix of the schemas of form bodies."""


def _name_forms(operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Give form bodies separate schema names.

    Generated clients choose the media type by the type of the body.
    """
    for form, suffix in FORM_SUFFIXES.items():
        described = operation.get("requestBody", {}).get("content", {}).get(form, {})
        if ref := described.get("schema", {}).get("$ref"):
            model = ref.rpartition("/")[2]
            name = f"{model}{suffix}"
            schemas[name] = schemas[model] | {"title": name}
            described["schema"] = {"$ref": _REF.format(model=name)}


def _security(path: str, *, is_needed: bool) -> list[dict[str, list[str]]]:
    """Return the security schemes, any of which suffices; an empty one means no key."""
    ways = [
        "bearer",
        "deepl",
        *(["libretranslate"] if path in SHARED_PATHS | LIBRETRANSLATE_PATHS else []),
    ]
    keyed: list[dict[str, list[str]]] = [{way: []} for way in ways]
    return keyed if is_needed else [{}, *keyed]
