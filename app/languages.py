"""Which languages a model translates between, and what a client may call them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.errors import InvalidRequestError, UnknownLanguagesError

# ISO 639-1, English names.
_NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish",
    "de": "German", "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish",
    "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French",
    "ga": "Irish", "gl": "Galician", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian",
    "hu": "Hungarian", "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese",
    "ko": "Korean", "la": "Latin", "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian",
    "mt": "Maltese", "nb": "Norwegian Bokmål", "nl": "Dutch", "no": "Norwegian", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian",
    "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "tr": "Turkish",
    "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Language:
    """A source language, its English name (its code where none is known), and its targets."""

    code: str
    name: str
    targets: tuple[str, ...]


class Languages:
    """The directions (source, target) of a model."""

    def __init__(self, directions: Sequence[tuple[str, str]]) -> None:
        self._directions = tuple(directions)
        self._sources = _distinct(source for source, _ in directions)
        self._targets = _distinct(target for _, target in directions)

    @property
    def sources(self) -> list[Language]:
        """Every source language, in the order of the directions."""
        return [
            Language(
                code, _NAMES.get(code, code), tuple(t for s, t in self._directions if s == code)
            )
            for code in self._sources
        ]

    def resolve(self, source: str | None, target: str | None) -> tuple[str, str]:
        """The direction that a request means, in the model's codes.

        Codes are BCP-47, in any case; where only a more general one is known, that is taken
        (`fr-CA` is `fr`: RFC 4647 lookup). A side left out is inferred if there is one choice.
        Raises `InvalidRequestError` if there are several, `UnknownLanguagesError` if there is none.
        """
        if source is not None and source.lower() == "auto":
            detail = "Detecting the language is not supported yet; name it"
            raise InvalidRequestError.at("/source", detail)
        wanted_source = source and self._lookup(source, self._sources)
        wanted_target = target and self._lookup(target, self._targets)
        choices = [
            (s, t)
            for s, t in self._directions
            if wanted_source in (None, s) and wanted_target in (None, t)
        ]
        if not choices:
            raise self._unknown()
        if len(choices) > 1:
            missing = "/target" if target is None else "/source"
            raise InvalidRequestError.at(missing, f"Field required: {self._known()}")
        return choices[0]

    def _lookup(self, code: str, known: Iterable[str]) -> str:
        by_lower = {name.lower(): name for name in known}
        subtags = code.lower().split("-")
        for n in range(len(subtags), 0, -1):
            if found := by_lower.get("-".join(subtags[:n])):
                return found
        raise self._unknown()

    def _unknown(self) -> UnknownLanguagesError:
        return UnknownLanguagesError(self._known())

    def _known(self) -> str:
        pairs = ", ".join(f"{source} to {target}" for source, target in self._directions)
        return f"this server translates {pairs}"


def _distinct(codes: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(codes))
