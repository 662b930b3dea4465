"""The served languages, directly or through a pivot, and the codes that clients may use."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Literal

from app.errors import InvalidRequestError, UnknownLanguagesError
from model.text.language_codes import (
    canonical_code,
    primary_language,
    requested_codes,
    standard_code,
)

Direction = tuple[str, str]
"""Source and target."""

AUTO = "auto"
"""The source of a request that requires language detection."""


def is_auto(source: str | None) -> bool:
    """Whether the language of the text is to be detected."""
    return source is not None and source.lower() == AUTO


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
        self._fitting: dict[tuple[str | None, str | None], list[Direction]] = {}
        for source, target in directions:
            for requested in ((source, target), (source, None), (None, target), (None, None)):
                self._fitting.setdefault(requested, []).append((source, target))
        self._pivoted = {
            (source, target): (source, pivot, target)
            for source, pivot, target in _pivoted(self._directions)
        }
        self._sources = _Codes(source for source, _ in directions)
        self._targets = _Codes(self.targets)

    @cached_property
    def sources(self) -> list[Language]:
        """Every source language, in the order of the directions; direct targets come first."""
        targets: dict[str, list[str]] = {}
        pivoted = ((source, target) for source, _, target in self.pivoted)
        for source, target in (*self._directions, *pivoted):
            targets.setdefault(source, []).append(target)
        return [Language(code, language_name(code), tuple(to)) for code, to in targets.items()]

    @cached_property
    def targets(self) -> list[str]:
        """Every target language's code, those through a pivot last."""
        pairs = (*self._directions, *((source, target) for source, _, target in self.pivoted))
        return list(dict.fromkeys(target for _, target in pairs))

    @cached_property
    def codes(self) -> list[str]:
        """Every language that is a source or a target, sources first."""
        sources, targets = zip(*self._directions, strict=True)
        return list(dict.fromkeys([*sources, *targets]))

    @cached_property
    def pivoted(self) -> list[tuple[str, str, str]]:
        """Source, pivot and target of each pair that only two directions in sequence serve.

        Of several pivots, that of the earlier directions is used.
        """
        return list(self._pivoted.values())

    def resolve(self, source: str | None, target: str | None) -> Direction:
        """Return the direction of a request, in the models' codes.

        Codes are BCP-47, in any case, or those of NLLB and ISO 639-3 (`fra_Latn`). If only a more
        general one is known, it is used (`fr-CA` is `fr`: RFC 4647 lookup), but a target only in
        the script that it names or that CLDR has for it. An omitted side is inferred if there is
        one choice. Raises `InvalidRequestError` if there are several, `UnknownLanguagesError` if
        there is none.
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
            for pair in self._pairs(source, target):
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
        for pair in self._pairs(source, target):
            choices = self._fitting.get(pair, [])
            if len(choices) > 1:
                missing = "/target" if target is None else "/source"
                raise InvalidRequestError.at(missing, f"Field required: {self.known}")
            if choices:
                return choices[0]
        return None

    def _pairs(
        self, source: str | None, target: str | None
    ) -> Iterator[tuple[str | None, str | None]]:
        """Yield the served codes that a request may mean; an omitted side stays None."""
        sources = [None] if source is None else self._sources.meant(source, in_any_script=True)
        targets = [None] if target is None else self._targets.meant(target)
        return product(sources, targets)

    def _unknown(self, source: str | None, target: str | None) -> UnknownLanguagesError:
        wrong: Literal["source", "target"] | None = None
        reason = self.known
        if target is not None and not self._targets.meant(target):
            wrong = "target"
            if others := self._targets.meant(target, in_any_script=True):
                reason = f"{_difference(target, others)}; {reason}"
        elif source is not None and not self._sources.meant(source, in_any_script=True):
            wrong = "source"
        return UnknownLanguagesError(reason, source, target, wrong)

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


@lru_cache(maxsize=4096)
def language_name(code: str) -> str:
    """Return the English name by CLDR, such as "Brazilian Portuguese"; the code if unknown."""
    from babel import Locale  # takes 50 ms

    english = Locale("en")
    language, *subtags = code.replace("_", "-").split("-")
    cased = [one.capitalize() if len(one) == 4 else one.upper() for one in subtags]
    whole: str | None = english.languages.get("_".join((language.lower(), *cased)))
    if whole:
        return whole
    named = english.languages.get(language.lower()) or english.languages.get(
        primary_language(canonical_code(language))
    )
    if named is None:
        return code
    parts = [english.scripts.get(one) or english.territories.get(one) or one for one in cased]
    return f"{named} ({', '.join(parts)})" if parts else named


def _difference(target: str, others: Sequence[str]) -> str:
    """Describe a language that is served in other scripts or of other regions."""
    codes = {code: "-".join(canonical_code(code).split("-")[:2]) for code in (target, *others)}
    if len(set(codes.values())) == 1:
        codes = {code: code for code in codes}
    written = ", ".join(f"{language_name(codes[code])} ({code})" for code in others)
    return f"{target} is {language_name(codes[target])}, this server writes {written}"


class _Codes:
    """The served codes of a side, found by any code that means the same."""

    def __init__(self, codes: Iterable[str]) -> None:
        self._spelt: dict[str, str] = {}
        self._canonical: dict[str, list[str]] = {}
        self._languages: dict[str, list[str]] = {}
        for code in dict.fromkeys(codes):
            self._spelt.setdefault(code.lower(), code)
            canonical = canonical_code(code)
            self._canonical.setdefault(canonical, []).append(code)
            self._languages.setdefault(primary_language(canonical), []).append(code)

    def meant(self, requested: str, *, in_any_script: bool = False) -> list[str]:
        """Return the codes that a requested one may mean, the best first.

        in_any_script  also those of the language in other scripts and regions, as a model may read
        """
        found = [self._spelt[one] for one in (requested.lower(),) if one in self._spelt]
        language = primary_language(standard_code(requested))  # `twi_Latn` is `tw` before `ak`
        for code in requested_codes(requested):
            alike = self._canonical.get(code, ())
            found += sorted(alike, key=lambda one: primary_language(one) != language)
        if in_any_script:
            found += self._languages.get(primary_language(canonical_code(requested)), ())
        return list(dict.fromkeys(found))


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


def own_name(code: str) -> str:
    """Return a language's name in itself by CLDR, such as "français"; the code if unknown."""
    from babel import Locale, UnknownLocaleError

    try:
        own = Locale.parse(code, sep="-")
    except (UnknownLocaleError, ValueError):
        return code
    return own.languages.get(own.language) or code


def fits(requested: str | None, code: str) -> bool:
    """Whether a requested code means a language, in its script; None means none."""
    return requested is not None and (
        requested.lower() == code.lower() or canonical_code(code) in requested_codes(requested)
    )


@lru_cache(maxsize=4096)
def is_among(code: str, languages: tuple[str, ...]) -> bool:
    """Whether a language is one of those listed, or a variety: `zh-Hant` is among `zh`."""
    parts = canonical_code(code).split("-")
    for one in languages:
        listed = canonical_code(one).split("-")
        if len(re.split("[-_]", one)) == 1:
            listed = listed[:1]  # in any script
        if parts[: len(listed)] == listed:
            return True
    return False
