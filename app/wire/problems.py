"""Error responses: one table maps exceptions to status codes and RFC 9457 documents.

Documents quote only field names of the request. `app.wire.failures` has the other dialects' forms.
"""

import json
from http import HTTPStatus
from typing import Any, NamedTuple

from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app import errors
from app.errors import InvalidRequestError, TryAgainLaterError

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:problem-type:attend:"
MAX_ERRORS = 20
MAX_POINTER = 100


class Kind(NamedTuple):
    """A row of the table: the status, the last part of the `type` (stable), the title.

    The last two are the statuses in LibreTranslate's and DeepL's dialects, if they differ.
    """

    status: int
    slug: str
    title: str
    libretranslate: int | None = None
    deepl: int | None = None


KINDS: dict[type[Exception], Kind] = {
    errors.InvalidRequestError: Kind(422, "invalid-request", "The request is not valid", 400, 400),
    errors.MalformedJsonError: Kind(422, "malformed-json", "The body is not JSON", 400, 400),
    errors.MalformedFormError: Kind(422, "malformed-form", "The body is not a form", 400, 400),
    errors.TextTooLongError: Kind(422, "text-too-long", "A text is too long", 400, 413),
    errors.UnreadableFileError: Kind(422, "unreadable-file", "The file cannot be read", 400, 400),
    errors.AttentionTooLargeError: Kind(422, "attention-too-large", "Too many attention weights"),
    errors.UnknownLanguagesError: Kind(
        404, "unknown-languages", "No model translates this", 400, 400
    ),
    errors.UnknownGlossaryError: Kind(404, "unknown-glossary", "No such glossary"),
    errors.UnknownDictionaryError: Kind(404, "unknown-dictionary", "No such dictionary"),
    errors.UnknownDocumentError: Kind(404, "unknown-document", "No such document"),
    errors.DocumentNotReadyError: Kind(
        503, "document-not-ready", "The document is not translated yet"
    ),
    errors.MissingKeyError: Kind(401, "key-needed", "An API key is required", 400, 403),
    errors.WrongKeyError: Kind(401, "key-unknown", "The API key is unknown", 403, 403),
    errors.QuotaExceededError: Kind(403, "quota-exceeded", "The quota is exceeded", 403, 456),
    errors.RateLimitedError: Kind(429, "rate-limited", "The rate limit is exceeded"),
    errors.QueueFullError: Kind(429, "queue-full", "The queue is full"),
    errors.DeadlineExceededError: Kind(
        504, "deadline-exceeded", "The answer took too long", deepl=503
    ),
    errors.StartingError: Kind(503, "starting", "The server is starting"),
    errors.ModelLoadingError: Kind(503, "model-loading", "The model is being loaded"),
    errors.ModelUnavailableError: Kind(503, "model-unavailable", "The model could not be loaded"),
    errors.DrainingError: Kind(503, "draining", "The server is stopping"),
    errors.EngineDownError: Kind(503, "engine-down", "The engine is down"),
    errors.ReloadFailedError: Kind(500, "reload-failed", "The reload failed"),
    errors.ReloadInProgressError: Kind(409, "reload-in-progress", "A reload is in progress"),
    errors.StorageFullError: Kind(507, "storage-full", "The disk is full"),
    errors.StorageUnavailableError: Kind(503, "storage-unavailable", "Stored data is unavailable"),
    errors.EngineFailedError: Kind(500, "engine-failed", "The engine failed"),
    Exception: Kind(500, "internal-error", "Internal server error"),
}

HTTP_KINDS: dict[int, Kind] = {
    404: Kind(404, "not-found", "Not found"),
    405: Kind(405, "method-not-allowed", "Method not allowed"),
    400: Kind(400, "bad-request", "Malformed HTTP request"),
    414: Kind(414, "url-too-long", "The URL is too long"),
    408: Kind(408, "too-slow", "The request arrived too slowly"),
    413: Kind(413, "body-too-large", "The body is too large"),
    415: Kind(415, "unsupported-media-type", "Unsupported media type", 400),
    431: Kind(431, "headers-too-large", "The headers are too large"),
    503: Kind(503, "too-many-connections", "Too many connections"),
}
"""Statuses raised by the HTTP layer itself."""


REASONS = frozenset(kind.slug for kind in (*KINDS.values(), *HTTP_KINDS.values()))
"""Every slug that has a row."""

REJECTIONS = frozenset(
    kind.slug for error, kind in KINDS.items() if issubclass(error, TryAgainLaterError)
)
"""Slugs of errors that reject a request before any work is done."""


class FaultyField(BaseModel):
    """One invalid field."""

    pointer: str = Field(description="JSON Pointer to the field", examples=["/beam_size"])
    detail: str = Field(examples=["Input should be less than or equal to 8"])


class Problem(BaseModel):
    """An RFC 9457 problem document, the body of every error response."""

    type: str = Field(description="stable URI", examples=[TYPE_PREFIX + "invalid-request"])
    title: str
    status: int
    detail: str
    request_id: str
    errors: list[FaultyField] | None = Field(None, description="validation only; the first 20")
    source: str | None = Field(
        None, description="unknown-languages only: the source language, named or detected"
    )


def kind_of(error: Exception) -> Kind:
    """Return the row of the error's nearest class."""
    if isinstance(error, HTTPException):
        status = error.status_code
        phrase = HTTPStatus(status).phrase
        return HTTP_KINDS.get(status) or Kind(status, phrase.lower().replace(" ", "-"), phrase)
    return next(KINDS[base] for base in type(error).__mro__ if base in KINDS)


def problem_response(
    error: Exception, request_id: str, status: int | None = None, /, **members: str
) -> Response:
    """Return the response to a request that failed with `error`; `members` are added to it.

    `status` replaces that of the table.
    """
    kind = kind_of(error)
    status = status or kind.status
    document: dict[str, Any] = {
        "type": TYPE_PREFIX + kind.slug,
        "title": kind.title,
        "status": status,
        "detail": detail_of(error),
        "request_id": request_id,
        **members,
    }
    if isinstance(error, errors.UnknownLanguagesError) and error.source is not None:
        document["source"] = error.source
    if isinstance(error, InvalidRequestError):
        document["errors"] = [
            {"pointer": field.pointer[:MAX_POINTER], "detail": field.detail}
            for field in error.errors[:MAX_ERRORS]
        ]
    headers = headers_of(error)
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    # ASCII escapes, since the name of an unknown field may hold a lone surrogate.
    return Response(json.dumps(document), status, headers, MEDIA_TYPE)


def headers_of(error: Exception) -> dict[str, str]:
    """Return the headers of an error response in any dialect."""
    headers: dict[str, str] = {}
    if isinstance(error, HTTPException):
        headers |= error.headers or {}
    if isinstance(error, TryAgainLaterError):
        headers["Retry-After"] = str(error.retry_after)
    return headers


def detail_of(error: Exception) -> str:
    """Return the error's message, if it may be shown to clients."""
    if kind_of(error) is KINDS[Exception]:  # its message was not written for clients
        return "see the server's log under the request ID"
    if isinstance(error, HTTPException):
        return str(error.detail)
    return str(error)
