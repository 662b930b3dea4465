"""Writes numbers in words, decades and years of an era as another language does."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from app.text.facts.cldr import SPACES, Convention, era_name, era_names, letters_of
from app.text.facts.clock_times import worded_times
from app.text.facts.number_words import spelt_out
from app.text.facts.ranks import FIRST_OF_NAME, ordinal_in
from model.text.language_codes import primary_language

_PER_CENT = re.compile(rf"[{SPACES}](?:per ?cent|pour cent)\b", re.IGNORECASE)
_DECADE = re.compile(rf"\bannées[{SPACES}]((?:\d\d)?\d0)\b")


class NumberForm(NamedTuple):
    """The span of a fact and how the other language writes it."""

    start: int
    end: int
    written: str


def words_written(text: str, source: str, target: str, there: Convention) -> Iterator[NumberForm]:
    """Yield the numbers in words, in digits, and the times of day."""
    for time in worded_times(text, source):
        if time.is_certain:
            mark = " h " if primary_language(target) == "fr" else ":"
            yield NumberForm(time.start, time.end, f"{time.hour}{mark}{time.minute:02}")
    if primary_language(source) == "en" and primary_language(target) == "fr":
        for ruler in FIRST_OF_NAME.finditer(text):
            yield NumberForm(ruler.end() - 1, ruler.end(), "Ier")
        for fortnight in re.finditer(r"\b(?:a )?fortnight\b", text, re.IGNORECASE):
            yield NumberForm(*fortnight.span(), "quinze jours")
    for one in spelt_out(text, source):
        if one.value < 3:
            continue
        digits = f"{one.value:,}".replace(",", there.group if one.value > 9999 else "")
        written = ordinal_in(one.value, digits, target) if one.is_ordinal else digits
        if written is not None:
            yield NumberForm(one.start, one.end, written)
    for one in spelt_out(text, source):
        if cent := _PER_CENT.match(text, one.end):
            mark = "%" if there.money == "before" else " %"
            yield NumberForm(one.start, cent.end(), f"{one.value}{mark}")
    if primary_language(source) == "fr" and primary_language(target) == "en":
        for decade in _DECADE.finditer(text):
            yield NumberForm(*decade.span(), f"{decade[1]}s")


def eras_written(text: str, source: str, target: str) -> Iterator[NumberForm]:
    """Yield the years of an era, each with the era as the target language abbreviates it."""
    sides: tuple[Literal["before", "after"], ...] = ("before", "after")
    for match in re.finditer(rf"(?:\d{{1,5}}|(century|siècle))([{SPACES}]?)(?=[^\W\d_])", text):
        for side in sides:
            names = era_names(source).get(side, frozenset())
            end = _end_of_name(text, match.end(), names)
            name = era_name(side, target)
            if end is not None and name is not None:
                year = match[0].strip(SPACES)
                written = f"{name} {year}" if name == "AD" else f"{year} {name}"
                if match[1]:
                    yield NumberForm(match.end(), end, name)
                else:
                    yield NumberForm(match.start(), end, written)
                break


def _end_of_name(text: str, start: int, names: frozenset[str]) -> int | None:
    """Return where the longest of the names ends that a text has there, however it is dotted."""
    found: int | None = None
    for end in range(start + 2, min(len(text), start + 24) + 1):
        is_end = end == len(text) or not text[end].isalnum()
        if is_end and letters_of(text[start:end]) in names and text[end - 1].isalpha():
            found = end + (text[end : end + 1] == "." and "." in text[start:end])
    return found
