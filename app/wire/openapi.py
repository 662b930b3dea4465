"""The parts of /openapi.json that FastAPI does not derive from the routes."""

import json
import re
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, TypeAdapter

from app.translation.answers import SegmentEvent, TokenEvent, TranslateAnswer
from app.wire.dialects.deepl import DeepLError
from app.wire.dialects.libretranslate import LibreTranslateAnswer, LibreTranslateError
from app.wire.failures import FORMS, LIBRETRANSLATE_PATHS, SHARED_PATHS, dialect_of_path
from app.wire.native.fields import WireRequest
from app.wire.problems import MEDIA_TYPE, Problem
from app.wire.request_id import REQUEST_ID

EXAMPLES: dict[str, Any] = json.loads(Path(__file__).with_name("examples.json").read_text("utf-8"))
"""Examples in the shipped checkpoint's languages, by request or response."""

_REF = "#/components/schemas/{model}"
_ANSWERED: tuple[type, ...] = (Problem, TokenEvent, SegmentEvent)

Responses = dict[int | str, dict[str, Any]]
"""By status, for FastAPI's `responses`."""


def _schema(*models: type) -> dict[str, Any]:
    refs = [{"$ref": _REF.format(model=model.__name__)} for model in models]
    return {"schema": refs[0] if len(refs) == 1 else {"anyOf": refs}}


def request_body(
    *models: type[WireRequest], form: type[WireRequest] | None = None, **examples: Any
) -> dict[str, Any]:
    """Describe a body in JSON and, in some dialects, as a form, for FastAPI's `openapi_extra`.

    Routes read bodies themselves: with a limit on size, and errors with pointers.
    """
    content = {"application/json": _schema(*models) | examples}
    if form:
        content |= {media_type: _schema(form) for media_type in FORMS}
    return {"requestBody": {"required": True, "content": content}}


def upload_body(model: type[WireRequest]) -> dict[str, Any]:
    """Describe a form with a file and the fields of `model`, for FastAPI's `openapi_extra`."""
    file = {
        "type": "object",
        "required": ["file"],
        "properties": {"file": {"type": "string", "format": "binary"}},
    }
    schema = {"allOf": [_schema(model)["schema"], file]}
    return {"requestBody": {"required": True, "content": {FORMS[1]: {"schema": schema}}}}


def query_parameters(*names: str) -> dict[str, Any]:
    """Describe required strings in the query, for FastAPI's `openapi_extra`."""
    described = {"in": "query", "required": True, "schema": {"type": "string"}}
    return {"parameters": [{"name": name} | described for name in names]}


def _event(name: str, model: type) -> dict[str, Any]:
    data = {"type": "string", "contentMediaType": "application/json"}
    return {
        "type": "object",
        "required": ["event", "data"],
        "properties": {
            "event": {"const": name},
            "data": {**data, "contentSchema": _schema(model)["schema"]},
        },
    }


_EVENT_STREAM: dict[str, Any] = {
    "itemSchema": {  # OpenAPI 3.2; tools for 3.1 ignore it
        "description": "With stream: true. The data of each event is one line of JSON; the last "
        "event is done or error.",
        "oneOf": [
            _event("token", TokenEvent),
            _event("segment", SegmentEvent),
            _event("done", TranslateAnswer),
            _event("error", Problem),
        ],
    },
    "example": EXAMPLES["translate_event"],
}


def _phrase(status: int) -> str:
    return "Quota Exceeded" if status == 456 else HTTPStatus(status).phrase


def problem_answers(*statuses: int) -> Responses:
    """Return problem documents as responses of a route, for FastAPI's `responses`."""
    content = {MEDIA_TYPE: _schema(Problem)}
    return {status: {"description": _phrase(status), "content": content} for status in statuses}


def errors_in(model: type[BaseModel], *statuses: int) -> Responses:
    """As `problem_answers`, in another dialect's form."""
    return {one: {"description": _phrase(one), "model": model} for one in statuses}


libretranslate_errors = partial(errors_in, LibreTranslateError)
deepl_errors = partial(errors_in, DeepLError)

SHARED_PATH_ERRORS: Responses = problem_answers(401, 404, 422) | {
    status: response | {"model": LibreTranslateError}
    for status, response in problem_answers(400, 403, 413, 415, 429, 500, 503, 504).items()
}
"""In the native dialect or LibreTranslate's."""

TRANSLATE_ANSWERS: Responses = SHARED_PATH_ERRORS | {
    200: {
        "model": TranslateAnswer | LibreTranslateAnswer,
        "content": {
            "application/json": {"examples": EXAMPLES["translate_answer"]},
            "text/event-stream": _EVENT_STREAM,
        },
    }
}

OPEN_PATHS = frozenset(
    {
        "/livez", "/readyz", "/startupz", "/metrics", "/status", "/health", "/languages",
        "/frontend/settings", "/spec", "/suggest", "/download_file/{name}",
    }
)  # fmt: skip
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
    "google": {
        "type": "apiKey", "in": "query", "name": "key", "description": "or X-Goog-Api-Key",
    },
    "extensions": {"type": "apiKey", "in": "query", "name": "token"},
}  # fmt: skip


def describe(app: FastAPI) -> dict[str, Any]:
    """Return FastAPI's document, with the schemas of bodies that the routes read themselves."""
    document = get_openapi(
        title=app.title, version=app.version, summary=app.summary, routes=app.routes
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    _add_requests(document, schemas)
    components["securitySchemes"] = SECURITY_SCHEMES
    for path, item in document["paths"].items():
        for operation in item.values():
            # FastAPI adds a response for parameters in a path, where any string is valid.
            if "HTTPValidationError" in json.dumps(operation["responses"].get("422")):
                del operation["responses"]["422"]
            if path not in OPEN_PATHS:
                operation["security"] = _security(path, is_needed=app.state.keys.needed)
                operation.setdefault("parameters", []).append(REQUEST_ID_PARAMETER)
                _name_forms(operation, schemas)
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    return document


def _add_requests(document: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Add the schemas of requests that are referred to, and of those that these refer to."""
    models = {model.__name__: model for model in _subclasses(WireRequest)}
    while missing := _references(document) & models.keys() - schemas.keys():
        _, definitions = TypeAdapter.json_schemas(
            [
                *((name, "validation", TypeAdapter(models[name])) for name in sorted(missing)),
                *((str(one), "serialization", TypeAdapter(one)) for one in _ANSWERED),
            ],
            ref_template=_REF,
        )
        schemas.update(definitions["$defs"])


def _references(document: dict[str, Any]) -> set[str]:
    return set(re.findall(_REF.format(model=r"(\w+)"), json.dumps(document)))


def _subclasses(model: type[WireRequest]) -> Iterator[type[WireRequest]]:
    for subclass in model.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


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
    ways = ["bearer", "deepl"]
    if path in SHARED_PATHS | LIBRETRANSLATE_PATHS:
        ways.append("libretranslate")
    ways += [dialect for dialect in ("google", "extensions") if dialect == dialect_of_path(path)]
    keyed: list[dict[str, list[str]]] = [{way: []} for way in ways]
    return keyed if is_needed else [{}, *keyed]
