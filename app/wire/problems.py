"""Errors as answers: one table maps them to status codes and RFC 9457 documents.

The other dialects' forms of the same errors are in `app.wire.failures`.

A document has `type`, `title`, `status`, `detail` and `request_id`; validation adds `errors`.
Nothing of the request is quoted except the names of its fields.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, NamedTuple

from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.errors import (
    AttentionTooLargeError,
    DeadlineExceededError,
    DrainingError,
    EngineDownError,
    EngineFailedError,
    InvalidRequestError,
    MalformedFormError,
    MalformedJsonError,
    MissingKeyError,
    QueueFullError,
    QuotaExceededError,
    RateLimitedError,
    ReloadFailedError,
    ReloadInProgressError,
    StartingError,
    TextTooLongError,
    TryAgainLaterError,
    UnknownGlossaryError,
    UnknownLanguagesError,
    UnreadableFileError,
    WrongKeyError,
)

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:problem-type:attend:"
MAX_ERRORS = 20
MAX_POINTER = 100


class Kind(NamedTuple):
    """A row of the table: the status, the stable end of the `type`, the title.

    The last two are the statuses in LibreTranslate's and DeepL's dialects, where they differ.
    """

    status: int
    slug: str
    title: str
    libretranslate: int | None = None
    deepl: int | None = None


KINDS: dict[type[Exception], Kind] = {
    InvalidRequestError: Kind(422, "invalid-request", "The request is not valid", 400, 400),
    MalformedJsonError: Kind(422, "malformed-json", "The body is not JSON", 400, 400),
    MalformedFormError: Kind(422, "malformed-form", "The body is not a form", 400, 400),
    TextTooLongError: Kind(422, "text-too-long", "A text is too long", 400, 413),
    UnreadableFileError: Kind(422, "unreadable-file", "The file cannot be read", 400),
    AttentionTooLargeError: Kind(422, "attention-too-large", "Too many attention weights"),
    UnknownLanguagesError: Kind(404, "unknown-languages", "No model translates this", 400, 400),
    UnknownGlossaryError: Kind(404, "unknown-glossary", "There is no such glossary"),
    MissingKeyError: Kind(401, "key-needed", "An API key is needed", 400, 403),
    WrongKeyError: Kind(401, "key-unknown", "The API key is not known", 403, 403),
    QuotaExceededError: Kind(403, "quota-exceeded", "The quota is used up", 403, 456),
    RateLimitedError: Kind(429, "rate-limited", "Too much for a minute"),
    QueueFullError: Kind(429, "queue-full", "The queue is full"),
    DeadlineExceededError: Kind(504, "deadline-exceeded", "The answer took too long", deepl=503),
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
    400: Kind(400, "bad-request", "This is not HTTP"),
    408: Kind(408, "too-slow", "The request came too slowly"),
    413: Kind(413, "body-too-large", "The body is too large"),
    415: Kind(415, "unsupported-media-type", "The body has a type that is not read here"),
    431: Kind(431, "headers-too-large", "The headers are too large"),
    503: Kind(503, "too-many-connections", "There are too many connections"),
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


def problem_response(error: Exception, request_id: str, /, **members: str) -> Response:
    """The answer to a request that ended in `error`; `members` are added to the document."""
    kind = kind_of(error)
    document: dict[str, Any] = {
        "type": TYPE_PREFIX + kind.slug,
        "title": kind.title,
        "status": kind.status,
        "detail": detail_of(error),
        "request_id": request_id,
        **members,
    }
    if isinstance(error, InvalidRequestError):
        document["errors"] = [
            {"pointer": field.pointer[:MAX_POINTER], "detail": field.detail}
            for field in error.errors[:MAX_ERRORS]
        ]
    headers = headers_of(error)
    if kind.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    # ASCII escapes, since the name of an unknown field may hold a lone surrogate.
    return Response(json.dumps(document), kind.status, headers, MEDIA_TYPE)


def headers_of(error: Exception) -> dict[str, str]:
    """What any dialect's answer has beside its body."""
    headers: dict[str, str] = {}
    if isinstance(error, HTTPException):
        headers |= error.headers or {}
    if isinstance(error, TryAgainLaterError):
        headers["Retry-After"] = str(error.retry_after)
    return headers


def detail_of(error: Exception) -> str:
    """What may be said of an error, in a sentence or less."""
    if kind_of(error) is KINDS[Exception]:  # whatever it says, it was not written for clients
        return "the request ID finds it in the server's log"
    if isinstance(error, HTTPException):
        return str(error.detail)
    return str(error)
