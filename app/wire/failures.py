"""Determines a request's dialect and formats errors in it.

    native          RFC 9457 problem document (`app.wire.problems`)
    libretranslate  {"error": "…"}
    deepl           {"message": "…"}
    google          {"error": {"code": …, "message": "…"}}
    openai          {"error": {"message": "…", "type": "…", "param": …, "code": "…"}}
    extensions      {"code": …, "message": "…"}
    undecided       a problem document with a member `error`, for a request on a shared path that
                    could be of either dialect; with LibreTranslate's status, but 422 for
                    missing fields

`app.wire.problems.KINDS` has the status codes; Google's, OpenAI's and the extensions' dialects have
LibreTranslate's, but 401 for a missing key.
"""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

from starlette.datastructures import Headers, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route, Router
from starlette.types import Scope

from app.errors import InvalidRequestError, UnknownLanguagesError
from app.languages.served import language_name
from app.observe.logs import log_failure
from app.wire.problems import KINDS, Kind, detail_of, headers_of, kind_of, problem_response

Dialect = Literal[
    "native", "libretranslate", "deepl", "google", "openai", "extensions", "undecided"
]

_PREFIXES: Mapping[str, Dialect] = {
    "/v2/": "deepl",
    "/v3/": "deepl",
    "/v1/": "openai",
    "/language/translate/v2": "google",
    "/translate_a/": "google",
    "/imme": "extensions",
    "/kiss": "extensions",
    "/hcfy": "extensions",
    "/deeplx": "extensions",
}
LIBRETRANSLATE_PATHS = frozenset(
    {"/health", "/frontend/settings", "/spec", "/suggest", "/translate_file"}
)
DOWNLOADS_PREFIX = "/download_file/"
SHARED_PATHS = frozenset({"/translate", "/detect", "/languages"})
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")

REQUIRED = "Field required"
"""pydantic's message for a missing field."""

_NEEDED = {"q", "source", "target", "file"}

MAX_ERRORS = 3
MAX_FIELD = 50

_STATE = "dialect"
_FIELDS: Mapping[Dialect, Mapping[str, str]] = {
    "libretranslate": {"text": "q"},
    "deepl": {"source": "source_lang", "target": "target_lang", "format": "tag_handling"},
    "google": {"text": "q"},
    "openai": {"text": "messages", "target": "model"},
}
"""A dialect's names for the fields of the native dialect."""
_FIELDS_OF_PATHS: Mapping[str, Mapping[str, str]] = {
    "/translate_a/": {"text": "q", "source": "sl", "target": "tl"},
    "/imme": {"text": "text_list", "source": "source_lang", "target": "target_lang"},
    "/kiss": {"source": "from", "target": "to"},
    "/hcfy": {"target": "destination"},
    "/deeplx": {"source": "source_lang", "target": "target_lang", "format": "tag_handling"},
}
"""The same for paths with names of their own."""


def media_type(headers: Headers) -> str:
    """Return the media type of the body, in lower case and without parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def set_dialect(request: Request, dialect: Dialect) -> None:
    """Report this request's errors in a dialect, regardless of its path."""
    request.scope["state"][_STATE] = dialect


def dialect_of(scope: Scope) -> Dialect:
    """Return the dialect that was set, else the one inferred without the body."""
    dialect: Dialect | None = scope.get("state", {}).get(_STATE)
    if dialect:
        return dialect
    path: str = scope["path"]
    if dialect := dialect_of_path(path):
        return dialect
    if not is_libretranslate(path):
        return "native"
    if (
        path not in SHARED_PATHS
        or "q" in QueryParams(scope["query_string"])
        or media_type(Headers(scope=scope)) in FORMS
    ):
        return "libretranslate"
    return "undecided"


def is_libretranslate(path: str) -> bool:
    """Whether LibreTranslate's dialect has this path, perhaps beside the native one."""
    return path in LIBRETRANSLATE_PATHS | SHARED_PATHS or path.startswith(DOWNLOADS_PREFIX)


def dialect_of_path(path: str) -> Dialect | None:
    """Return the dialect of a path that belongs to one alone, except LibreTranslate's."""
    return next((of for prefix, of in _PREFIXES.items() if path.startswith(prefix)), None)


def failure_response(error: Exception, scope: Scope) -> Response:
    """Return the response to a request that failed with `error`, in the client's dialect."""
    dialect = dialect_of(scope)
    if dialect == "native":
        return problem_response(error, scope["state"]["request_id"])
    status = _status(kind_of(error), dialect)
    path: str = scope["path"]
    if dialect == "undecided":
        message = message_of(error, "libretranslate")
        return problem_response(error, scope["state"]["request_id"], status, error=message)
    body = json.dumps(error_body(error, dialect, status, path))
    return Response(body, status, headers_of(error), "application/json")


def _status(kind: Kind, dialect: Dialect) -> int:
    if dialect == "deepl":
        return kind.deepl or kind.status
    if dialect == "undecided" and kind is KINDS[InvalidRequestError]:
        return kind.status
    if dialect != "libretranslate" and kind.status == HTTPStatus.UNAUTHORIZED:
        return kind.status
    return kind.libretranslate or kind.status


def error_body(error: Exception, dialect: Dialect, status: int, path: str = "") -> dict[str, Any]:
    """Return the body of an error response in a dialect other than the native one."""
    message = message_of(error, dialect, path)
    match dialect:
        case "deepl":
            return {"message": message}
        case "google":
            return {"error": {"code": status, "message": message}}
        case "extensions":
            return {"code": status, "message": message}
        case "openai":
            ours = status >= HTTPStatus.INTERNAL_SERVER_ERROR
            kind = "server_error" if ours else "invalid_request_error"
            code = kind_of(error).slug
            return {"error": {"message": message, "type": kind, "param": None, "code": code}}
        case _:
            return {"error": message}


def message_of(error: Exception, dialect: Dialect, path: str = "") -> str:
    """Return the text of an error in a dialect other than the native one, with the path's names."""
    names = next(
        (own for prefix, own in _FIELDS_OF_PATHS.items() if path.startswith(prefix)),
        _FIELDS.get(dialect, {}),
    )
    if isinstance(error, UnknownLanguagesError):
        if dialect == "libretranslate":
            return libretranslate_languages_message(error)
        source, target = names.get("source", "source"), names.get("target", "target")
        if error.wrong is None:
            return f"{target}: not supported with this {source}; {error}"
        return f"{names.get(error.wrong, error.wrong)}: not supported; {error}"
    if not isinstance(error, InvalidRequestError):
        return detail_of(error)
    if dialect == "libretranslate" and (message := invalid_request_message(error)):
        return message
    faults = []
    for fault in error.errors[:MAX_ERRORS]:
        field, _, inner = fault.pointer.removeprefix("/").partition("/")
        name = "/".join(filter(None, [names.get(field, field), inner]))[:MAX_FIELD]
        faults.append(f"{name}: {fault.detail}" if name else fault.detail)
    return "; ".join(faults)


def _allowed(routers: Sequence[Router], scope: Scope) -> str:
    """Return the methods of all routes with this path; Starlette names only those of the first."""
    methods = {
        method
        for router in routers
        for route in router.routes
        if isinstance(route, Route) and route.matches(scope)[0] is not Match.NONE
        for method in route.methods or ()
    }
    return ", ".join(sorted(methods))


async def handle(routers: Sequence[Router], request: Request, error: Exception) -> Response:
    """Handle an application's exceptions. OPTIONS is answered with the allowed methods."""
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        error = HTTPException(
            error.status_code, error.detail, {"Allow": _allowed(routers, request.scope)}
        )
        if request.method == "OPTIONS":
            return Response(status_code=HTTPStatus.NO_CONTENT, headers=error.headers)
    if isinstance(error, HTTPException) and error.detail == HTTPStatus.NOT_FOUND.phrase:
        error = HTTPException(error.status_code, "no such path; GET /openapi.json lists all")
    kind = kind_of(error)
    request.state.failure = kind.slug  # for the metrics
    if kind.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        log_failure(error)
    return failure_response(error, request.scope)


def invalid_request_message(error: InvalidRequestError) -> str | None:
    """Return LibreTranslate's message for the first fault, if it has one."""
    first = error.errors[0]
    name = first.pointer.removeprefix("/")
    name = "q" if name == "text" else name
    if name in _NEEDED and first.detail.startswith(REQUIRED):
        return f"Invalid request: missing {name} parameter"
    if name == "alternatives" and "valid integer" in first.detail:
        return "Invalid request: alternatives parameter is not a number"
    if name == "format" and name in first.detail:
        return first.detail
    return None


def libretranslate_languages_message(error: UnknownLanguagesError) -> str:
    """Return LibreTranslate's message for an unsupported language or pair."""
    wrong = {"source": error.source, "target": error.target, None: None}[error.wrong]
    if wrong is not None:
        return f"{wrong} is not supported"
    if error.source is None or error.target is None:
        return str(error)
    source, target = (f"{language_name(code)} ({code})" for code in (error.source, error.target))
    return f"{target} is not available as a target language from {source}"
