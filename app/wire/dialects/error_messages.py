"""Error messages that clients of LibreTranslate 1.9.6 and DeepL search for names of fields."""

from __future__ import annotations

from app.errors import InvalidRequestError, UnknownLanguagesError
from app.languages.served import language_name

REQUIRED = "Field required"
"""pydantic's message for a missing field."""

_NEEDED = {"q", "source", "target", "file"}


def invalid_request_message(error: InvalidRequestError) -> str | None:
    """Return LibreTranslate's message for the first fault, if it has one."""
    first = error.errors[0]
    name = first.pointer.removeprefix("/")
    name = "q" if name == "text" else name
    if name in _NEEDED and first.detail.startswith(REQUIRED):
        return f"Invalid request: missing {name} parameter"
    if name == "alternatives" and "valid integer" in first.detail:
        return "Invalid request: alternatives parameter is not a number"
    if name == "format":
        return first.detail
    return None


def libretranslate_languages_message(error: UnknownLanguagesError) -> str:
    """Return LibreTranslate's message for a language or pair that is not translated."""
    wrong = {"source": error.source, "target": error.target, None: None}[error.wrong]
    if wrong is not None:
        return f"{wrong} is not supported"
    if error.source is None or error.target is None:
        return str(error)
    source, target = (f"{language_name(code)} ({code})" for code in (error.source, error.target))
    return f"{target} is not available as a target language from {source}"


def deepl_languages_message(error: UnknownLanguagesError) -> str:
    """Return a message that names DeepL's field, for a language that is not translated."""
    if error.wrong is None:
        return f"target_lang: not supported with this source_lang; {error}"
    return f"{error.wrong}_lang: not supported; {error}"
