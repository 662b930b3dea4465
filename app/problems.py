"""From errors to answers: one table, and RFC 9457 documents for whatever goes wrong.

A document has `type`, `title`, `status`, `detail` and `request_id`; validation adds `errors`.
Nothing of the request is quoted except the names of its fields.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, NamedTuple

from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app.errors import (
    AttentionTooLargeError,
    DeadlineExceededError,
    DrainingError,
    EngineDownError,
    EngineFailedError,
    InvalidRequestError,
    MalformedJsonError,
    QueueFullError,
    ReloadFailedError,
    ReloadInProgressError,
    StartingError,
    TextTooLongError,
    TryAgainLaterError,
    UnknownLanguagesError,
)
from app.logs import log_failure

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:problem-type:attend:"
MAX_ERRORS = 20
MAX_POINTER = 100


class Kind(NamedTuple):
    """A row of the table: the status, the stable end of the `type`, the title."""

    status: int
    slug: str
    title: str


KINDS: dict[type[Exception], Kind] = {
    InvalidRequestError: Kind(422, "invalid-request", "The request is not valid"),
    MalformedJsonError: Kind(422, "malformed-json", "The body is not JSON"),
    TextTooLongError: Kind(422, "text-too-long", "A text is too long"),
    AttentionTooLargeError: Kind(422, "attention-too-large", "Too many attention weights"),
    UnknownLanguagesError: Kind(404, "unknown-languages", "No model translates this"),
    QueueFullError: Kind(429, "queue-full", "The queue is full"),
    DeadlineExceededError: Kind(504, "deadline-exceeded", "The answer took too long"),
    StartingError: Kind(503, "starting", "The server is starting"),
    DrainingError: Kind(503, "draining", "The server is stopping"),
    EngineDownError: Kind(503, "engine-down", "The engine is down"),
    ReloadFailedError: Kind(500, "reload-failed", "The models stay as they were"),
    ReloadInProgressError: Kind(409, "reload-in-progress", "One reload at a time"),
    EngineFailedError: Kind(500, "engine-failed", "The engine failed"),
    Exception: Kind(500, "internal-error", "Something went wrong in the server"),
}

HTTP_KINDS: dict[int, Kind] = {
    404: Kind(404, "not-found", "There is nothing here"),
    405: Kind(405, "method-not-allowed", "This method is not allowed here"),
    413: Kind(413, "body-too-large", "The body is too large"),
    415: Kind(415, "unsupported-media-type", "The body has a type that is not read here"),
}
"""What is raised by the HTTP layer itself, where no translation is involved."""


REJECTIONS = frozenset(
    kind.slug for error, kind in KINDS.items() if issubclass(error, TryAgainLaterError)
)
"""Slugs of those that turn a request away before any work."""


class FaultyField(BaseModel):
    """One faulty field."""

    pointer: str = Field(description="JSON Pointer to the field", examples=["/beam_size"])
    detail: str = Field(examples=["Input should be less than or equal to 8"])


class Problem(BaseModel):
    """RFC 9457 problem document, the body of every answer that is not a success."""

    type: str = Field(description="stable URI", examples=[TYPE_PREFIX + "invalid-request"])
    title: str
    status: int
    detail: str
    request_id: str
    errors: list[FaultyField] | None = Field(None, description="validation only; the first 20")


def kind_of(error: Exception) -> Kind:
    """The row of an error's nearest class."""
    if isinstance(error, HTTPException):
        status = error.status_code
        phrase = HTTPStatus(status).phrase
        return HTTP_KINDS.get(status) or Kind(status, phrase.lower().replace(" ", "-"), phrase)
    return next(KINDS[base] for base in type(error).__mro__ if base in KINDS)


def problem_response(error: Exception, request_id: str) -> Response:
    """The answer to a request that ended in `error`."""
    kind = kind_of(error)
    document: dict[str, Any] = {
        "type": TYPE_PREFIX + kind.slug,
        "title": kind.title,
        "status": kind.status,
        "detail": _detail(error, kind),
        "request_id": request_id,
    }
    headers: dict[str, str] = {}
    if isinstance(error, HTTPException):
        headers |= error.headers or {}
    if isinstance(error, InvalidRequestError):
        document["errors"] = [
            {"pointer": field.pointer[:MAX_POINTER], "detail": field.detail}
            for field in error.errors[:MAX_ERRORS]
        ]
    if isinstance(error, TryAgainLaterError):
        headers["Retry-After"] = str(error.retry_after)
    # ASCII escapes, since the name of an unknown field may hold a lone surrogate.
    return Response(json.dumps(document), kind.status, headers, MEDIA_TYPE)


def _detail(error: Exception, kind: Kind) -> str:
    if kind is KINDS[Exception]:  # whatever it says, it was not written for clients
        return "the request ID finds it in the server's log"
    if isinstance(error, HTTPException):
        return str(error.detail)
    return str(error)


async def handle(request: Request, error: Exception) -> Response:
    """The exception handler of the application. OPTIONS is answered with what is allowed."""
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # Starlette names the methods of one route; here, whatever answers GET answers HEAD.
        allowed = (error.headers or {}).get("Allow", "").replace("GET", "GET, HEAD")
        error = HTTPException(error.status_code, error.detail, {"Allow": allowed})
        if request.method == "OPTIONS":
            return Response(status_code=HTTPStatus.NO_CONTENT, headers=error.headers)
    kind = kind_of(error)
    request.state.failure = kind.slug  # for the metrics
    if kind.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        log_failure(error)
    return problem_response(error, request.state.request_id)
