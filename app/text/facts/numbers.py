"""Reads the quantities of a text: numbers in digits and words, with their units, and times."""

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from app.text.cldr import SPACES, has_dotted_times
from app.text.facts.quantities.clock_times import ClockTime, names_late_part, time_at
from app.text.facts.quantities.multiples import multiples
from app.text.facts.quantities.number_marks import NUMBER, commas_of, read_values
from app.text.facts.quantities.number_words import (
    numbers_in_words,
    other_numbers_in_words,
    spelt_out,
)
from app.text.facts.quantities.parts import parts_of_units
from app.text.facts.quantities.slang_money import ANY_MONEY
from app.text.facts.quantities.units import Unit, currency_before, scale_at, unit_at
from app.text.facts.quantities.worded_times import worded_times
from app.text.facts.ranks import roman_numerals
from app.text.remembered import remembered
from app.text.spans import Span, replace
from model.text.language_codes import primary_language

_DIGIT = re.compile(r"\d")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_MYRIAD_SCALES = {
    scale: exponent
    for scales, exponent in (("千천", 3), ("万萬만", 4), ("億亿억", 8), ("兆조", 12))
    for scale in scales
}
_MYRIAD = re.compile(rf"(\d[\d,]*)[ ]?([{''.join(_MYRIAD_SCALES)}]?)")
_MYRIADS = re.compile(
    rf"(?<![\d,.])\d[\d,]{{0,15}}(?:[{''.join(_MYRIAD_SCALES)}][ ]?\d[\d,]{{0,15}})+(?![\d,.])"
    rf"[{''.join(_MYRIAD_SCALES)}]?"
)
_DECADE = re.compile(r"(?:[12]\d)?\d0(?=['’]?s\b)")
_DOTTED_TIME = re.compile(r"(?:[01]?\d|2[0-3])\.[0-5]\d")
_ROUND_THE_CLOCK = re.compile(
    rf"\b(24|7)([{SPACES}]?(?:h(?:eures?|ours?)?|j(?:ours?)?))(?:[{SPACES}]?/[{SPACES}]?| sur )\1\b"
)
_BEFORE_TIME = re.compile(
    r"(?:\b(?:at|by|until|till?|from|to|before|after|around|about|since|between|and|or|à|vers|avant"
    r"|après|dès|depuis|jusqu['’]à|de|entre|et|ou|a|alle|um|bis|von|às|om|tot)|[–-])[ ]?$",
    re.IGNORECASE,
)
"""Words before an hour that has no mark of its own: `at 8`."""

_HOUR = "duration-hour"
_DAYS = frozenset({"duration-day"})
_FORTNIGHT = 15
_SLANG = 1000
_ANY_CURRENCY = frozenset({"$", "€", "£", "CHF", ANY_MONEY})
"""What a number behind which `grand` or `briques` stands may count."""

UNCOUNTED = frozenset({"part"})
"""The unit of months, halves and dozens; the other text need not have it."""


class Quantity(NamedTuple):
    """A number with all its possible meanings; one not in digits may be omitted.

    unit     the unit beside it, if it has one
    written  the unit as written
    """

    readings: tuple[str, ...]
    in_digits: bool
    unit: frozenset[str] = frozenset()
    written: str = ""


def has_digit(*texts: str) -> bool:
    """Whether any of the texts has a digit, of any script."""
    return any(map(_DIGIT.search, texts))


@remembered
def values_of(text: str, language: str) -> frozenset[int]:
    """Return the whole numbers that a text may have, in digits, words and Roman numerals."""
    return frozenset({
        *numbers_in_words(text, language),
        *(int(Decimal(reading)) for quantity in quantities_in(text, language, True, False)
          for reading in quantity.readings
          if reading.isdigit()),
        *(int(hour) for hour in re.findall(r"(\d{1,2})(?=[:h]|[ \u00a0]h)", text)),
        *(value for _, value in roman_numerals(text)),
    })  # fmt: skip


def with_digits(text: str, language: str) -> str:
    """Replace the cardinals in words by digits."""
    spelt = [one for one in spelt_out(text, language) if not one.is_ordinal]
    return replace(text, [Span(one.start, one.end) for one in spelt], [str(x.value) for x in spelt])


def with_western_digits(text: str) -> str:
    """Replace decimal digits of any script by European ones, but not raised ones and the like.

    A number of several scales such as `1億2000万` becomes one number.
    """
    if text.isascii():
        return text
    if _OTHER_DIGIT.search(text):
        text = "".join(
            str(unicodedata.decimal(character)) if character.isdecimal() else character
            for character in text
        )
    return _MYRIADS.sub(_sum_of_myriads, text)


def _sum_of_myriads(number: re.Match[str]) -> str:
    """Return the value of a number of several scales; unchanged if they do not descend."""
    parts = _MYRIAD.findall(number[0])
    scales = [_MYRIAD_SCALES.get(scale, 0) for _, scale in parts]
    if scales != sorted(set(scales), reverse=True):
        return number[0]
    values = (
        int(digits.replace(",", "")) * 10**scale
        for (digits, _), scale in zip(parts, scales, strict=True)
    )
    return str(sum(values))


@remembered
def quantities_in(
    text: str, language: str, halves_known: bool, is_strict: bool
) -> tuple[Quantity, ...]:
    """Return the quantities of a text with western digits.

    halves_known  whether a.m. and p.m. are compared
    is_strict     whether it is a translation, which has to be well-formed
    """
    words = _in_words(text, language, is_strict=is_strict)
    if not has_digit(text):
        return tuple(words)
    return (
        *words,
        *_in_digits(text, language, halves_known=halves_known, is_strict=is_strict),
    )


def _in_words(text: str, language: str, *, is_strict: bool) -> Iterator[Quantity]:
    for spelt in spelt_out(text, language):
        unit = unit_at(text, spelt.end, language)
        names, written = _named(text, unit)
        readings = _readings_of_word(spelt.value)
        if is_strict and _HOUR not in names:
            readings = readings[:2]
        yield Quantity(readings, False, names, written)
    for value in other_numbers_in_words(text, language):
        yield Quantity(
            _readings_of_word(value),
            in_digits=False,
            unit=_DAYS if value == _FORTNIGHT else UNCOUNTED,
        )
    for part in parts_of_units(text, language):
        for amount, units in part.amounts():
            yield Quantity((f"{amount.normalize():f}",), in_digits=False, unit=units)
    for _, value in roman_numerals(text):
        yield Quantity((str(value),), in_digits=False)
    for worded in worded_times(text, language):
        hours = (worded.hour, (worded.hour + 12) % 24)
        yield Quantity(tuple(f"{hour}:{worded.minute:02}" for hour in hours), in_digits=False)


def _in_digits(
    text: str, language: str, *, halves_known: bool, is_strict: bool
) -> Iterator[Quantity]:
    if "7" in text or "24" in text:
        text = _ROUND_THE_CLOCK.sub(r"\1\2", text)
    at = 0
    commas = commas_of(primary_language(language), is_strict=is_strict)
    may_be_late = names_late_part(text)
    nouns = {one.start: one for one in multiples(text, language)}
    while number := NUMBER.search(text, at):
        if time := time_at(text, number.start(), may_be_late=may_be_late):
            yield _time(time, halves_known=halves_known)
            at = time.end
            continue
        at = number.end()
        if _DOTTED_TIME.fullmatch(number[0]) and has_dotted_times(language):
            hour, minute = number[0].split(".")
            yield Quantity((f"{int(hour)}:{minute}", f"{int(hour)}.{minute}".rstrip("0")), True)
            continue
        if decade := _DECADE.match(text, number.start()):
            short = decade[0][-2:]
            yield Quantity((decade[0], short, f"19{short}", f"20{short}"), in_digits=True)
            continue
        if noun := nouns.get(at + 1):
            at = noun.end
            unit = unit_at(text, at, language)
            [*values] = read_values(number[0], (), commas)
            for readings in values if len(values) == 1 else ():
                many = tuple(f"{Decimal(one) * noun.value:f}" for one in readings)
                names, written = _named(text, unit)
                if noun.value >= _SLANG and not names:
                    names = _ANY_CURRENCY
                yield Quantity(many, True, names, written)
            continue
        sign = currency_before(text, number.start())
        scale = scale_at(text, at, language, is_money=sign is not None)
        unit = unit_at(text, scale.end if scale else at, language)
        at = unit.end if unit else at  # a power may be a digit: `km2`
        names, written = (frozenset({sign}), sign) if sign else _named(text, unit)
        before = max(number.start() - 10, 0)
        may_be_time = not (is_strict and halves_known) or bool(
            _BEFORE_TIME.search(text, before, number.start())
        )
        for readings in read_values(number[0], scale.exponents if scale else (), commas):
            times: tuple[str, ...] = ()
            if len(readings[0]) <= 2 and readings[0].isdigit():
                value = int(readings[0])
                needs_sign = language == "fr" or (language == "en" and value > 12)
                is_bare_time = may_be_time and not (is_strict and needs_sign)
                times = _hours(value, names, is_bare_time, may_be_late)
            yield Quantity((*readings, *times), True, names, written)


def _named(text: str, unit: Unit | None) -> tuple[frozenset[str], str]:
    return (unit.names, text[unit.start : unit.end]) if unit else (frozenset(), "")


def _readings_of_word(value: int) -> tuple[str, ...]:
    return (str(value), f"{value}:00", f"{value} h") if value <= 24 else (str(value),)


def _hours(
    number: int, units: frozenset[str], may_be_time: bool, may_be_late: bool
) -> tuple[str, ...]:
    """Return the times and lengths of time that a number without minutes may be."""
    if _HOUR in units:
        return (f"{number} h",)
    if units or not may_be_time or number > 24:
        return ()
    later = (f"{number + 12}:00",) if may_be_late and number < 12 else ()
    return f"{number} h", f"{number}:00", *later


def _time(time: ClockTime, *, halves_known: bool) -> Quantity:
    readings = [f"{hour}:{time.minute:02}" for hour in time.hours]
    if not time.minute and time.may_be_length:
        readings += [f"{hour} h" for hour in time.hours]
    if not halves_known:
        readings += [f"{time.written_hour % 12}:{time.minute:02} of 12"]
        readings += [] if time.minute else [str(time.written_hour)]
    return Quantity(tuple(readings), in_digits=True)
