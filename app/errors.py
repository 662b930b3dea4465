"""The exceptions raised above the model, as one tree; `app.wire.problems` maps them to statuses.

    AppError
    ├── SettingsError, GoldenSentenceError, PullError, ModelTooLargeError
    ├── RequestError              the request is invalid; retrying does not help
    │   ├── MalformedJsonError, MalformedFormError, InvalidRequestError, UnreadableFileError
    │   ├── UnknownLanguagesError, UnknownGlossaryError ─ UnknownDictionaryError
    │   ├── UnknownDocumentError, DocumentNotReadyError
    │   └── TextTooLongError, AttentionTooLargeError
    ├── AccessError               the client may not make this request
    │   └── MissingKeyError, WrongKeyError, QuotaExceededError
    ├── DeadlineExceededError, EngineFailedError, ReloadFailedError, ReloadInProgressError
    ├── StorageFullError, StorageUnavailableError
    └── TryAgainLaterError        temporary; `retry_after` holds the seconds to wait
        ├── QueueFullError, RateLimitedError
        ├── StartingError, DrainingError, EngineDownError
        └── ModelLoadingError, ModelUnavailableError

Messages may be shown to clients: they name fields and limits and never quote the request.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

MAX_RETRY_AFTER = 60
"""Seconds; clients should not rely on longer forecasts."""


class AppError(Exception):
    """Base of all errors raised by `app`; `message` is the default one of a class."""

    message = ""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(self.message if message is None else message)


class SettingsError(AppError):
    """A setting has an invalid value."""


class RequestError(AppError):
    """The request is invalid; retrying does not help."""


class MalformedJsonError(RequestError):
    """The body is not JSON."""


class MalformedFormError(RequestError):
    """The body is not a form of its declared type."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One invalid field: its location as a JSON Pointer (RFC 6901) and what is expected."""

    pointer: str
    detail: str


class InvalidRequestError(RequestError):
    """Fields are missing, invalid or unknown."""

    message = "the request has missing, invalid or unknown fields"

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__()
        self.errors = tuple(errors)

    @classmethod
    def at(cls, pointer: str, detail: str) -> InvalidRequestError:
        """Return the error for one field."""
        return cls([FieldError(pointer, detail)])


class UnknownLanguagesError(RequestError):
    """No model translates the language or pair.

    source, target  the codes that the request named, if it did
    wrong           which of them is not served at all; None if both are, but not as a pair
    """

    def __init__(
        self,
        message: str,
        source: str | None = None,
        target: str | None = None,
        wrong: Literal["source", "target"] | None = None,
    ) -> None:
        super().__init__(message)
        self.source = source
        self.target = target
        self.wrong = wrong


class UnknownGlossaryError(RequestError):
    """No stored glossary has this id."""

    message = "no glossary has this id"


class UnknownDictionaryError(UnknownGlossaryError):
    """The glossary has no dictionary of these languages."""

    message = "the glossary has no dictionary of these languages"


class UnknownDocumentError(RequestError):
    """No document has this id and key: it never had, or it was downloaded, deleted or dropped."""

    message = "no document has this id and key"


class DocumentNotReadyError(RequestError):
    """The translated document cannot be downloaded yet."""

    message = "the document is not translated yet; ask for its status"


class UnreadableFileError(RequestError):
    """The file's content does not match its extension; the message names the line or part."""


class TextTooLongError(RequestError):
    """The text exceeds a limit in characters or tokens."""


class AttentionTooLargeError(RequestError):
    """The attention weights exceed the limit of one response."""


class AccessError(AppError):
    """The client may not make this request."""


class MissingKeyError(AccessError):
    """An API key is required."""

    message = "an API key is required"


class WrongKeyError(AccessError):
    """The API key is unknown."""

    message = "the API key is unknown"


class QuotaExceededError(AccessError):
    """The client's monthly character quota is exceeded."""


class DeadlineExceededError(AppError):
    """The answer was not ready in time; the work was dropped."""


class EngineFailedError(AppError):
    """The engine failed on this work; the cause is chained."""


class GoldenSentenceError(AppError):
    """A model's translations differ from those recorded with it."""


class ReloadFailedError(AppError):
    """The new models cannot be used; the old ones stay in service."""


class ReloadInProgressError(AppError):
    """Another reload is in progress."""


class PullError(AppError):
    """A model cannot be fetched from the hub, or not imported."""


class ModelTooLargeError(AppError):
    """A model does not fit into the memory for models, beside the pinned ones."""

    def __init__(self, model: str, n_bytes: float, available: float) -> None:
        super().__init__(
            f"'{model}' needs about {n_bytes / 1e6:,.0f} MB, and --model-memory leaves "
            f"{max(0.0, available) / 1e6:,.0f} MB beside the pinned models"
        )


class StorageFullError(AppError):
    """The disk is full."""

    message = "the server's disk is full"


class StorageUnavailableError(AppError):
    """Stored data cannot be read or changed: the file is read-only, locked, or broken."""

    message = "stored data cannot be read or changed now"


class TryAgainLaterError(AppError):
    """Base of temporary errors; `retry_after` is in whole seconds."""

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    @classmethod
    def after(cls, message: str, seconds: float) -> Self:
        """Return the error of a condition that is forecast to last `seconds`."""
        return cls(message, min(max(1, math.ceil(seconds)), MAX_RETRY_AFTER))


class QueueFullError(TryAgainLaterError):
    """The queue is full, or the answer would come too late."""


class RateLimitedError(TryAgainLaterError):
    """The client exceeds its limit per minute."""


class StartingError(TryAgainLaterError):
    """The server's models are being loaded."""


class ModelLoadingError(TryAgainLaterError):
    """The model of the languages is not loaded in time for this request."""

    @classmethod
    def of(cls, model: str, seconds: float) -> Self:
        """Return the error for a model that is expected to be loaded in `seconds`."""
        return cls.after(f"the model '{model}' is being loaded", seconds)


class ModelUnavailableError(TryAgainLaterError):
    """The model of the languages could not be loaded."""

    @classmethod
    def of(cls, model: str, seconds: float) -> Self:
        """Return the error for a model that is tried again after `seconds`."""
        reason = "could not be loaded; the server's log has the reason"
        return cls.after(f"the model '{model}' {reason}", seconds)


class DrainingError(TryAgainLaterError):
    """The server is shutting down."""


class EngineDownError(TryAgainLaterError):
    """No engine is running; only a restart helps."""

    def __init__(self) -> None:
        super().__init__("the engine has stopped", MAX_RETRY_AFTER)
