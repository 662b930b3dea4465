"""Writes times of day, numbers in words, decades and years of an era as another language does."""

import re
from collections.abc import Iterator
from datetime import time
from decimal import Decimal
from typing import Literal, NamedTuple

from app.text.cldr import SPACES, Convention, era_name, era_names, letters_of, locale_of
from app.text.facts.quantities.clock_times import (
    MINUTE_WORD,
    PART_OF_DAY,
    by_24_hours,
    half_before,
    half_named,
    is_length_of_time,
)
from app.text.facts.quantities.currencies import currency_noun
from app.text.facts.quantities.multiples import linked_noun, multiples
from app.text.facts.quantities.number_words import spelt_out
from app.text.facts.quantities.slang_money import ANY_MONEY
from app.text.facts.quantities.units import Unit, unit_at
from app.text.facts.quantities.worded_times import worded_times
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
    for clock in worded_times(text, source):
        if clock.is_certain:
            mark = " h " if primary_language(target) == "fr" else ":"
            yield NumberForm(clock.start, clock.end, f"{clock.hour}{mark}{clock.minute:02}")
    if primary_language(source) == "en" and primary_language(target) == "fr":
        for ruler in FIRST_OF_NAME.finditer(text):
            is_queen = re.match("Elizabeth|Mary|Queen", ruler[0])
            yield NumberForm(ruler.end() - 1, ruler.end(), "Ire" if is_queen else "Ier")
        for fortnight in re.finditer(r"\b(?:a )?fortnight\b", text, re.IGNORECASE):
            yield NumberForm(*fortnight.span(), "quinze jours")
    yield from _spelt_written(text, source, target, there)
    for one in spelt_out(text, source):
        if cent := _PER_CENT.match(text, one.end):
            mark = "%" if there.money == "before" else " %"
            yield NumberForm(one.start, cent.end(), f"{one.value}{mark}")
    if primary_language(source) == "fr" and primary_language(target) == "en":
        for decade in _DECADE.finditer(text):
            yield NumberForm(*decade.span(), f"{decade[1]}s")


def _spelt_written(text: str, source: str, target: str, there: Convention) -> Iterator[NumberForm]:
    """Yield the numbers in words, each with its `de` or its slang for money, if it has one."""
    many = {noun.end for noun in multiples(text, source)}
    for one in spelt_out(text, source):
        if one.value < 2:
            continue
        digits = f"{one.value:,}".replace(",", there.group if one.value > 9999 else "")
        written = ordinal_in(one.value, digits, target) if one.is_ordinal else digits
        if written is not None:
            link = linked_noun(text, one.end) if one.end in many else ""
            yield NumberForm(one.start, one.end + len(link), written + " " * bool(link))
            unit = unit_at(text, one.end, source)
            if unit and (noun := noun_of_slang(unit, Decimal(one.value), target)):
                yield NumberForm(one.start, unit.end, f"{written} {noun}")


def noun_of_slang(unit: Unit, value: Decimal, target: str) -> str | None:
    """Return the noun of a currency for slang such as `quid`; None if the unit is not slang."""
    if ANY_MONEY not in unit.names:
        return None
    sign = next(one for one in "€£$" if one in unit.names)
    return currency_noun(sign, value, target)


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


_M = r"(?:m(?![A-Za-z])|\.m\.?)"
_UNTIL = (
    rf"[{SPACES}]?(?:-|–|—|to\b|and\b|until\b|or\b)[{SPACES}]?(?P<last>\d{{1,2}})(?:[:.]\d\d)?"
    rf"[{SPACES}]?(?P<last_half>[ap]){_M}"
)
TIME = rf"""
    (?P<hour>\d{{1,2}}) (?:
          (?: [:.](?P<minute>\d\d) | [{SPACES}]?h(?:eures?)?(?:[{SPACES}]?(?P<m>\d\d)(?!\d))? )?
          (?: [{SPACES}]?(?P<half>[ap]){_M} | {PART_OF_DAY} | (?={_UNTIL}) )
        | [{SPACES}]?h(?:rs?)?[{SPACES}]?(?P<minutes>\d\d)(?!\d)(?P<length>{MINUTE_WORD})?
        | [{SPACES}]?(?:h|heures?|(?P<sharp>o['’]clock))(?![^\W_]) )
"""
"""A time of day, for a verbose expression: its groups are read by `written_time`."""

_AT = re.compile(
    r"(?:\b(?:à|avant|après|vers|dès|depuis|jusqu['’]à|de|entre|et|ou|pour|at|by|before|after|until"
    rf"|till|from|around|about|since|between|and|to)|[–-])[{SPACES}]?$",
    re.IGNORECASE,
)
"""Words before a time of day, but not before a length of time."""


def written_time(match: re.Match[str], target: str) -> str | None:
    """Return a time of day as a language writes it; None for what may be a length of time.

    By 24 hours, or as it is in a language that has hours of both kinds.
    """
    hour, half = int(match["hour"]), _half(match)
    minute = match["minute"] or match["m"] or match["minutes"] or "00"
    language = primary_language(target)
    if match["length"]:
        return None
    is_bare = half is None and not match["sharp"] and "h" in match["time"].lower()
    has_minutes = match["m"] or match["minutes"]
    if is_bare and not (
        _is_at_time(match) or (has_minutes and not is_length_of_time(_until(match)))
    ):
        return None
    if hour > 24 or int(minute) > 59:
        return match["time"]
    if half is None:
        return _by_24_hours(hour, minute, language, target)
    if hour > 12:
        return f"{hour}:{minute}" if match["part"] else match["time"]
    if language == "en":
        is_english = match["half"] or match["last_half"]
        return match["time"] if is_english else f"{hour}:{minute} {half}m"
    return _by_24_hours(by_24_hours(hour, half), minute, language, target)


def _is_at_time(match: re.Match[str]) -> bool:
    """Whether what stands before an hour says that it is one of the day."""
    return _AT.search(match.string, max(match.start() - 12, 0), match.start()) is not None


def _until(match: re.Match[str]) -> str:
    return match.string[max(match.start() - 30, 0) : match.end()]


def _by_24_hours(hour: int, minute: str, language: str, target: str) -> str:
    if language == "fr":
        return f"{hour} h" if minute == "00" else f"{hour} h {minute}"
    if language == "en":
        return f"{hour}:{minute}"
    from babel.dates import format_time

    return format_time(time(hour % 24, int(minute)), "short", locale=locale_of(target) or target)


def _half(match: re.Match[str]) -> Literal["a", "p"] | None:
    hour = int(match["hour"])
    if match["half"]:
        return "p" if match["half"].lower() == "p" else "a"
    if match["last_half"]:
        last_half: Literal["a", "p"] = "p" if match["last_half"].lower() == "p" else "a"
        return half_before(hour, int(match["last"]), last_half)
    return half_named(match["part"], hour) if match["part"] else None
