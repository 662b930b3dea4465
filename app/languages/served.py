"""The served languages, directly or through a pivot, and the codes that clients may use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from app.errors import InvalidRequestError, UnknownLanguagesError
from model.text.language_codes import requested_codes

NAMES = {  # ISO 639-1, English
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


Direction = tuple[str, str]
"""Source and target."""

MAX_PAIRS_LISTED = 20
"""More directions are described by their languages."""


@dataclass(frozen=True, slots=True)
class Language:
    """A source language, its English name (its code if unknown), and its targets."""

    code: str
    name: str
    targets: tuple[str, ...]


class Languages:
    """The directions of one or several models, and the pairs that two of them form in sequence."""

    def __init__(self, directions: Sequence[Direction]) -> None:
        self._directions = tuple(directions)
        # By the codes of a request, in lower case.
        self._fitting: dict[tuple[str | None, str | None], list[Direction]] = {}
        for direction in directions:
            source, target = map(str.lower, direction)
            for requested in ((source, target), (source, None), (None, target), (None, None)):
                self._fitting.setdefault(requested, []).append(direction)
        self._pivoted = {
            (source.lower(), target.lower()): (source, pivot, target)
            for source, pivot, target in _pivoted(self._directions)
        }

    @property
    def sources(self) -> list[Language]:
        """Every source language, in the order of the directions; direct targets come first."""
        targets: dict[str, list[str]] = {}
        pivoted = ((source, target) for source, _, target in self.pivoted)
        for source, target in (*self._directions, *pivoted):
            targets.setdefault(source, []).append(target)
        return [Language(code, language_name(code), tuple(to)) for code, to in targets.items()]

    @property
    def targets(self) -> list[str]:
        """Every target language's code, those through a pivot last."""
        pairs = (*self._directions, *((source, target) for source, _, target in self.pivoted))
        return list(dict.fromkeys(target for _, target in pairs))

    @property
    def codes(self) -> list[str]:
        """Every language that is a source or a target, sources first."""
        sources, targets = zip(*self._directions, strict=True)
        return list(dict.fromkeys([*sources, *targets]))

    @property
    def pivoted(self) -> list[tuple[str, str, str]]:
        """Source, pivot and target of each pair that only two directions in sequence serve.

        Of several pivots, that of the earlier directions is used.
        """
        return list(self._pivoted.values())

    def resolve(self, source: str | None, target: str | None) -> Direction:
        """Return the direction of a request, in the models' codes.

        Codes are BCP-47, in any case, or those of NLLB and ISO 639-3 (`fra_Latn`). If only a more
        general one is known, it is used (`fr-CA` is `fr`: RFC 4647 lookup). An omitted side is
        inferred if there is one choice. Raises `InvalidRequestError` if there are several,
        `UnknownLanguagesError` if there is none.
        """
        if direction := self._direct(source, target):
            return direction
        raise self._unknown(source, target)

    def chain(self, source: str | None, target: str | None) -> tuple[str, ...]:
        """Return the languages from source to target: directly if possible, else through a pivot.

        One language if both sides name it, or one of them a variant of it (`en` and `en-GB`).
        Raises as `resolve`; a pivot requires both sides.
        """
        if direction := self._direct(source, target):
            return direction
        if source is not None and target is not None:
            for pair in product(_ever_more_general(source), _ever_more_general(target)):
                if pair in self._pivoted:
                    return self._pivoted[pair]
            if fits(source, target) or fits(target, source):
                for code in self.targets:
                    if fits(source, code) and fits(target, code):
                        return (code,)
        raise self._unknown(source, target)

    def pair(self, source: str, target: str) -> Direction:
        """Return the codes of a pair that is translated, perhaps through a pivot.

        Raises as `chain`, and `InvalidRequestError` if both sides name the same language.
        """
        chain = self.chain(source, target)
        if len(chain) == 1:
            raise InvalidRequestError.at("/target", "Source and target language are equal")
        return chain[0], chain[-1]

    def first_source(self, target: str | None) -> str:
        """Return the first source that is translated to a target.

        Raises `UnknownLanguagesError` if there is none.
        """
        for language in self.sources:
            if target is None or any(fits(target, to) for to in language.targets):
                return language.code
        raise self._unknown(None, target)

    def _direct(self, source: str | None, target: str | None) -> Direction | None:
        for pair in product(_ever_more_general(source), _ever_more_general(target)):
            choices = self._fitting.get(pair, [])
            if len(choices) > 1:
                missing = "/target" if target is None else "/source"
                raise InvalidRequestError.at(missing, f"Field required: {self.known}")
            if choices:
                return choices[0]
        return None

    def _unknown(self, source: str | None, target: str | None) -> UnknownLanguagesError:
        wrong: Literal["source", "target"] | None = None
        if target is not None and not any(fits(target, code) for code in self.targets):
            wrong = "target"
        elif source is not None and not any(fits(source, code) for code, _ in self._directions):
            wrong = "source"
        return UnknownLanguagesError(self.known, source, target, wrong)

    @property
    def known(self) -> str:
        """Describe the directions in an error message."""
        return f"this server translates {described(self._directions)}"


def described(directions: Sequence[Direction]) -> str:
    """Describe directions in short: `en to fr, fr to en`, or `any two of af, am, …`.

    Beyond a few, sources with the same targets are listed together.
    """
    if len(directions) <= MAX_PAIRS_LISTED:
        return ", ".join(f"{source} to {target}" for source, target in directions)
    targets: dict[str, list[str]] = {}
    for source, target in directions:
        targets.setdefault(source, []).append(target)
    sources: dict[frozenset[str], list[str]] = {}
    for source, to in targets.items():
        sources.setdefault(frozenset((source, *to)), []).append(source)
    parts: list[str] = []
    others: dict[tuple[str, ...], list[str]] = {}
    for languages, alike in sources.items():
        if languages == set(alike):
            parts.append(f"any two of {', '.join(alike)}")
        else:
            for source in alike:
                others.setdefault(tuple(targets[source]), []).append(source)
    parts += [f"{', '.join(alike)} to {', '.join(to)}" for to, alike in others.items()]
    return "; ".join(parts)


def language_name(code: str) -> str:
    """Return the English name, or the code if unknown."""
    return NAMES.get(code, code)


def _pivoted(directions: Sequence[Direction]) -> Iterator[tuple[str, str, str]]:
    targets: dict[str, list[str]] = {}
    for source, target in directions:
        targets.setdefault(source, []).append(target)
    everywhere = set().union(*targets.values())
    for source, pivots in targets.items():
        found = {source, *pivots}
        for pivot in pivots if not everywhere <= found else ():
            for target in targets.get(pivot, ()):
                if target not in found:
                    found.add(target)
                    yield source, pivot, target


def fits(requested: str | None, code: str) -> bool:
    """Whether a requested code matches a language code; None matches nothing."""
    return code.lower() in _ever_more_general(requested)


def _ever_more_general(code: str | None) -> list[str] | list[None]:
    """Return what a code may mean; None stays None."""
    return [None] if code is None else requested_codes(code)
