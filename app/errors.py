"""What can go wrong above the model, as one tree; `app.wire.problems` has the status codes.

    AppError
    ├── SettingsError                 a flag or environment variable with a value that cannot be
    ├── RequestError                  the request cannot be fulfilled as it is
    │   ├── MalformedJsonError        the body is not JSON
    │   ├── MalformedFormError        the body is not the form that it says it is
    │   ├── InvalidRequestError       fields missing, wrong or not known, each with its place
    │   ├── UnknownLanguagesError     a language, or a pair, that no model here translates
    │   ├── UnknownGlossaryError      a stored glossary that is not there
    │   ├── UnreadableFileError       a file that is not what its name says
    │   ├── TextTooLongError          more characters or tokens than the model reads at once
    │   └── AttentionTooLargeError    more attention weights than one answer may hold
    ├── AccessError                   the request is well, but not for this client to make
    │   ├── MissingKeyError           a key is needed
    │   ├── WrongKeyError             the key is not one of this server's
    │   └── QuotaExceededError        more characters than the client may have translated
    ├── DeadlineExceededError         the answer was not ready in time
    ├── EngineFailedError             the engine broke down over this work
    ├── GoldenSentenceError           a model translates otherwise than was recorded with it
    ├── ReloadFailedError             the new models cannot be used; the old ones stay
    ├── ReloadInProgressError         one reload at a time
    └── TryAgainLaterError            it may go well in a while; knows after how many seconds
        ├── QueueFullError            no place is free
        ├── RateLimitedError          the client asks for more than it may in a minute
        ├── StartingError             the model is being loaded
        ├── DrainingError             the server is about to stop
        └── EngineDownError           no engine is left

Messages are fit to be shown to a client: they name fields and limits and never quote the request.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

MAX_RETRY_AFTER = 60
"""Seconds; a longer forecast is worth less than asking again."""


class AppError(Exception):
    """Base of all errors raised by `app`."""


class SettingsError(AppError):
    """A setting with a value that cannot be."""


class RequestError(AppError):
    """The request cannot be fulfilled as it is; trying again will not help."""


class MalformedJsonError(RequestError):
    """The body is not JSON."""


class MalformedFormError(RequestError):
    """The body is not the form that it says it is."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One faulty field: its place as a JSON Pointer (RFC 6901) and what would be right."""

    pointer: str
    detail: str


class InvalidRequestError(RequestError):
    """Fields that are missing, wrong or not known."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("the request has fields that are missing, wrong or not known")
        self.errors = tuple(errors)

    @classmethod
    def at(cls, pointer: str, detail: str) -> InvalidRequestError:
        """The error of one field."""
        return cls([FieldError(pointer, detail)])


class UnknownLanguagesError(RequestError):
    """A language, or a pair of them, that no model here translates."""


class UnknownGlossaryError(RequestError):
    """A stored glossary that is not there."""

    def __init__(self) -> None:
        super().__init__("there is no glossary of this id")


class UnreadableFileError(RequestError):
    """A file that is not what its name says; tells the line or part."""


class TextTooLongError(RequestError):
    """More characters or tokens than the model reads at once."""


class AttentionTooLargeError(RequestError):
    """More attention weights than one answer may hold."""


class AccessError(AppError):
    """Base of errors of requests that are not for this client to make."""


class MissingKeyError(AccessError):
    """A key is needed."""

    def __init__(self) -> None:
        super().__init__("an API key is needed")


class WrongKeyError(AccessError):
    """The key is not one of this server's."""

    def __init__(self) -> None:
        super().__init__("the API key is not known here")


class QuotaExceededError(AccessError):
    """More characters than the client may have translated in a month."""


class DeadlineExceededError(AppError):
    """The answer was not ready in time; the work was dropped."""


class EngineFailedError(AppError):
    """The engine broke down over this work; the cause is chained."""


class GoldenSentenceError(AppError):
    """A model translates otherwise than was recorded with it."""


class ReloadFailedError(AppError):
    """The new models cannot be used; the old ones stay in service."""


class ReloadInProgressError(AppError):
    """There is one reload at a time."""


class TryAgainLaterError(AppError):
    """Base of errors that pass; `retry_after` in whole seconds."""

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class QueueFullError(TryAgainLaterError):
    """No place is free, or none that is worth having."""

    @classmethod
    def after(cls, message: str, seconds: float) -> QueueFullError:
        """Of a server that will have done its present work in so many seconds."""
        return cls(message, min(max(1, math.ceil(seconds)), MAX_RETRY_AFTER))


class RateLimitedError(TryAgainLaterError):
    """The client asks for more than it may in a minute."""


class StartingError(TryAgainLaterError):
    """The model is being loaded."""


class DrainingError(TryAgainLaterError):
    """The server is about to stop."""


class EngineDownError(TryAgainLaterError):
    """No engine is left, which only a restart mends."""

    def __init__(self) -> None:
        super().__init__("the engine has stopped", MAX_RETRY_AFTER)
