"""Ratios in English and French: one in ten, 8 out of 10, deux sur trois."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from app.text.facts.cldr import SPACES
from app.text.facts.number_words import spelt_out
from app.text.facts.quantities import unit_at
from app.text.facts.ranks import ordinals_in_words
from model.text.language_codes import primary_language

_NOUN = rf"(?:[^\W\d_][\w'’-]*[{SPACES}]){{0,2}}?"
_LINKS = {
    "en": re.compile(rf"[{SPACES}]{_NOUN}(?P<link>out of|in)(?: every)?[{SPACES}]"),
    "fr": re.compile(rf"[{SPACES}]{_NOUN}(?P<link>sur)[{SPACES}]"),
}
_WRITTEN = {
    "en": re.compile(r"(?:\b(?:in|of|per|every|each)[ ]|/|-in-)$"),
    "fr": re.compile(rf"(?:\b(?:sur|pour|contre)[{SPACES}]|/)$"),
}
"""Words before the whole of a ratio. French `pour` also stands in percentages."""

_OTHERWISE = re.compile(r"%|per ?cent|pour cent|\bhalf\b|moitié|\bdemi|\bother\b", re.IGNORECASE)
_DIGITS = re.compile(r"(?<![\w.,/-])\d{1,4}(?![\w/-]|[.,]\d)")
_MAX_PART = 20
"""The largest part of `one in ten`; in other languages and beyond it, `in` is of time or place."""


class _Whole(NamedTuple):
    """The whole of a ratio, and its part; `start` is that of the word before it."""

    part: int
    part_start: int
    part_end: int
    value: int
    start: int
    end: int


def same_ratios(source: str, translation: str, languages: Sequence[str]) -> bool:
    """Whether the wholes of the ratios of a source are wholes in its translation."""
    wholes = [*_wholes(source, primary_language(languages[0]))]
    written = _WRITTEN.get(primary_language(languages[-1]))
    if not wholes or written is None or _OTHERWISE.search(translation):
        return True
    there = {
        value
        for value, start, _ in _numbers(translation, languages[-1])
        if written.search(translation, max(start - 12, 0), start)
    }
    there.update(ordinals_in_words(translation, languages[-1]))
    there.update(int(whole) for whole in re.findall(r"/[ ]?(\d{1,4})\b", translation))
    return all(whole.value in there for whole in wholes)


def ratios_written(text: str, source: str, target: str) -> Iterator[tuple[int, int, str]]:
    """Yield the spans of the wholes, from the word before them, as the other language has them."""
    link = {"en": ("out of", "in"), "fr": ("sur", "sur")}.get(primary_language(target))
    if link is not None:
        for whole in _wholes(text, primary_language(source)):
            written = f"{link[whole.part == 1]} {whole.value}"
            if whole.start - whole.part_end > 1:  # a noun is between them
                yield whole.start, whole.end, written
            else:
                yield whole.part_start, whole.end, f"{whole.part} {written}"


def _wholes(text: str, language: str) -> Iterator[_Whole]:
    link = _LINKS.get(language)
    if link is None or not (" in " in text or " out of " in text or "sur" in text):
        return
    numbers = _numbers(text, language)
    for (part, first, end), (whole, start, last) in pairwise(numbers):
        found = link.fullmatch(text, end, start)
        if found is None or part >= whole or unit_at(text, last, language):
            continue
        if found["link"] == "in" and not (part <= _MAX_PART and whole <= 1000):
            continue
        if found["link"] == "in" and part > 1 and found.start("link") > end + 1:
            continue
        yield _Whole(part, first, end, whole, found.start("link"), last)


def _numbers(text: str, language: str) -> list[tuple[int, int, int]]:
    found = [(one.value, one.start, one.end) for one in spelt_out(text, language)]
    found += [(int(one[0]), *one.span()) for one in _DIGITS.finditer(text)]
    return sorted(found, key=lambda one: one[1])
