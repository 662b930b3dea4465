"""Compares the numbers in digits of a source and its translation by value.

Differences of notation are ignored: separators, the order of dates, clocks of 12 and 24 hours,
digits of other scripts, the position of symbols and units, and English and French number words. A
time must be in the same half of the day if the text names it, and a negative number stays negative.
If a number can be read in two ways ("1,234"), both are accepted, unless its language has only one.
If a language's number words are unknown, a small number may be missing, because it may have become
a word, and a.m. and p.m. are not compared.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from app.text.facts.cldr import SPACES, has_dotted_times
from app.text.facts.clock_times import (
    ClockTime,
    in_minutes,
    is_length_of_time,
    mixes_clocks,
    names_half,
    names_late_part,
    time_at,
    worded_times,
)
from app.text.facts.number_marks import (
    NUMBER,
    commas_of,
    has_foreign_form,
    may_have_sign,
    read_values,
    same_signs,
)
from app.text.facts.number_words import numbers_in_words, other_numbers_in_words, spelt_out
from app.text.facts.quantities import (
    Unit,
    currency_before,
    is_checked,
    is_symbol,
    names_unit,
    scale_at,
    unit_at,
)
from app.text.facts.ranks import roman_numerals
from app.text.remembered import remembered
from app.text.spans import Span, replace
from model.text.language_codes import primary_language

_DIGIT = re.compile(r"\d")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_DECADE = re.compile(r"(?:[12]\d)?\d0(?=['’]?s\b)")
_DOTTED_TIME = re.compile(r"(?:[01]?\d|2[0-3])\.[0-5]\d")
_ROUND_THE_CLOCK = re.compile(
    rf"(?<=\d)([{SPACES}]?h(?:eures?|ours?)?)(?:[{SPACES}]?/[{SPACES}]?| sur )24\b"
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
_PART = frozenset({"part"})
"""The unit of months, halves and dozens; the other text need not have it."""
_LANGUAGES_OF_WORDS = {"en", "fr"}
MAX_IN_WORDS = 100
"""The largest number that may be in digits on one side and a word of an unknown language on the
other; thousands and millions may be, too."""


class _Said(NamedTuple):
    """A number with all its possible meanings; one not in digits may be omitted.

    unit     the unit beside it, if it has one
    written  the unit as written
    """

    readings: tuple[str, ...]
    in_digits: bool
    unit: frozenset[str] = frozenset()
    written: str = ""


def same_numbers(source: str, translation: str, languages: Sequence[str] = ("en", "fr")) -> bool:
    """Whether each number in digits of one text is in the other, equally often.

    languages  codes of both texts: words for numbers are known in English and French
    """
    one, other = _western(source), _western(translation)
    if not (has_digit(source, translation) or spelt_out(source, languages[0])):
        return True
    if _equal(one, other, languages):
        return True
    texts = (one, other)
    digits = [_in_digits(text, code) for text, code in zip(texts, languages, strict=True)]
    lengths = [in_minutes(text, code) for text, code in zip(digits, languages, strict=True)]
    return lengths != digits and _equal(lengths[0], lengths[1], languages)


def _equal(one: str, other: str, languages: Sequence[str]) -> bool:
    """Whether the numbers are the same, each length of time by the units that it has."""
    spoken = [primary_language(code) for code in languages]
    knows_words = _LANGUAGES_OF_WORDS.issuperset(spoken)
    if mixes_clocks(other) and not mixes_clocks(one):
        return False
    if is_length_of_time(one) and (
        (names_half(other) and not names_half(one))
        or names_unit(other, ("duration-hour",), languages[-1]) is False
    ):
        return False
    if has_foreign_form(one, other, languages):
        return False
    read = _said(one, languages[0], knows_words, False)
    written = _said(other, languages[-1], knows_words, True)
    if not (
        _same_units(read, written, other, languages[-1])
        and _same_units(written, read, one, languages[0])
    ):
        return False
    lost, added = _without_equals(read, written)
    if not (lost or added):
        if not (may_have_sign(one) or may_have_sign(other)):
            return True
        return same_signs(_in_digits(one, languages[0]), _in_digits(other, languages[-1]), spoken)
    return not knows_words and not (lost and added) and all(map(_may_be_word, [*lost, *added]))


def has_digit(*texts: str) -> bool:
    """Whether any of the texts has a digit, of any script."""
    return any(map(_DIGIT.search, texts))


@remembered
def values_of(text: str, language: str) -> frozenset[int]:
    """Return the whole numbers that a text may have, in digits, words and Roman numerals."""
    return frozenset({
        *numbers_in_words(text, language),
        *(int(Decimal(reading)) for said in _said(text, language, True, False)
          for reading in said.readings
          if reading.isdigit()),
        *(int(hour) for hour in re.findall(r"(\d{1,2})(?=[:h]|[ \u00a0]h)", text)),
        *(value for _, value in roman_numerals(text)),
    })  # fmt: skip


def _same_units(
    one: Sequence[_Said], other: Sequence[_Said], translation: str, language: str
) -> bool:
    """Whether what the numbers of one text count is counted in the other, and nothing else."""
    counted = {name for said in other for name in _family(said.unit)}
    by_reading: dict[str, set[tuple[frozenset[str], bool]]] = defaultdict(set)
    for said in other:
        for reading in said.readings:
            by_reading[reading].add((said.unit, said.in_digits))
    for unit, written, readings in {(x.unit, x.written, x.readings) for x in one if x.written}:
        found = {another for reading in readings for another in by_reading.get(reading, ())}
        if not found or any(_family(another) & _family(unit) for another, _ in found):
            continue
        if not is_checked(written, unit) and all(another == _PART for another, _ in found):
            continue
        bare = [in_digits for another, in_digits in found if not another]
        if bare and not (is_checked(written, unit) and all(bare)):
            continue
        named = names_unit(translation, unit, language)
        if named is False:
            return False
        if named and bare and is_symbol(written) and not _family(unit) & {*counted, "temperature"}:
            return False  # it is there, but beside no number
    return True


def _family(units: frozenset[str]) -> set[str]:
    """The units, and their kind for temperatures, which are often written as mere degrees."""
    return {"temperature" if unit.startswith("temperature") else unit for unit in units}


def _without_equals(
    one: Sequence[_Said], other: Sequence[_Said]
) -> tuple[list[_Said], list[_Said]]:
    """Return the numbers in digits of either that the other lacks.

    Each takes a number of its own in the other, one in digits if there is one.
    """
    waiting: dict[str, list[int]] = defaultdict(list)
    for index in sorted(range(len(other)), key=lambda index: other[index].in_digits):
        for reading in other[index].readings:
            waiting[reading].append(index)
    taken: set[int] = set()
    lost: list[_Said] = []
    for said in sorted(one, key=lambda said: not said.in_digits):
        found = _free(said, other, waiting, taken)
        if found is not None:
            taken.add(found)
        elif said.in_digits:
            lost.append(said)
    return lost, [said for at, said in enumerate(other) if said.in_digits and at not in taken]


def _may_be_word(said: _Said) -> bool:
    """Whether a number is one that many languages write as a word in running text."""
    return any(
        reading.isdigit() and (int(reading) <= MAX_IN_WORDS or reading.strip("0") == "1")
        for reading in said.readings
    )


def _free(
    said: _Said, other: Sequence[_Said], waiting: dict[str, list[int]], taken: set[int]
) -> int | None:
    """Return a number of the other text that a number may be, one in digits if there is one."""
    found: int | None = None
    for reading in said.readings:
        places = waiting.get(reading, [])
        while places and places[-1] in taken:
            places.pop()
        if places and (found is None or other[places[-1]].in_digits):
            found = places[-1]
            if other[found].in_digits:
                break
    return found


def _in_digits(text: str, language: str) -> str:
    """With digits for numbers in words."""
    spelt = [one for one in spelt_out(text, language) if not one.is_ordinal]
    return replace(text, [Span(one.start, one.end) for one in spelt], [str(x.value) for x in spelt])


def _western(text: str) -> str:
    """With European digits for those of any script, raised ones and the like left alone."""
    if text.isascii() or not _OTHER_DIGIT.search(text):
        return text
    return "".join(
        str(unicodedata.decimal(character)) if character.isdecimal() else character
        for character in text
    )


@remembered
def _said(text: str, language: str, halves_known: bool, is_strict: bool) -> tuple[_Said, ...]:
    words = _said_in_words(text, language, is_strict=is_strict)
    if not has_digit(text):
        return tuple(words)
    return (
        *words,
        *_said_in_digits(text, language, halves_known=halves_known, is_strict=is_strict),
    )


def _said_in_words(text: str, language: str, *, is_strict: bool) -> Iterator[_Said]:
    for spelt in spelt_out(text, language):
        unit = unit_at(text, spelt.end, language)
        names, written = _named(text, unit)
        readings = _in_words(spelt.value)
        if is_strict and _HOUR not in names:
            readings = readings[:2]
        yield _Said(readings, False, names, written)
    for value in other_numbers_in_words(text, language):
        yield _Said(_in_words(value), in_digits=False, unit=_DAYS if value == _FORTNIGHT else _PART)
    for _, value in roman_numerals(text):
        yield _Said((str(value),), in_digits=False)
    for worded in worded_times(text, language):
        hours = (worded.hour, (worded.hour + 12) % 24)
        yield _Said(tuple(f"{hour}:{worded.minute:02}" for hour in hours), in_digits=False)


def _said_in_digits(
    text: str, language: str, *, halves_known: bool, is_strict: bool
) -> Iterator[_Said]:
    if "24" in text:
        text = _ROUND_THE_CLOCK.sub(r"\1", text)
    at = 0
    commas = commas_of(primary_language(language), is_strict=is_strict)
    may_be_late = names_late_part(text)
    while number := NUMBER.search(text, at):
        if time := time_at(text, number.start(), may_be_late=may_be_late):
            yield _time(time, halves_known=halves_known)
            at = time.end
            continue
        at = number.end()
        if _DOTTED_TIME.fullmatch(number[0]) and has_dotted_times(language):
            hour, minute = number[0].split(".")
            yield _Said((f"{int(hour)}:{minute}", f"{int(hour)}.{minute}".rstrip("0")), True)
            continue
        if decade := _DECADE.match(text, number.start()):
            short = decade[0][-2:]
            yield _Said((decade[0], short, f"19{short}", f"20{short}"), in_digits=True)
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
            yield _Said((*readings, *times), True, names, written)


def _named(text: str, unit: Unit | None) -> tuple[frozenset[str], str]:
    return (unit.names, text[unit.start : unit.end]) if unit else (frozenset(), "")


def _in_words(value: int) -> tuple[str, ...]:
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


def _time(time: ClockTime, *, halves_known: bool) -> _Said:
    readings = [f"{hour}:{time.minute:02}" for hour in time.hours]
    if not time.minute and time.may_be_length:
        readings += [f"{hour} h" for hour in time.hours]
    if not halves_known:
        readings += [f"{time.shown % 12}:{time.minute:02} of 12"]
        readings += [] if time.minute else [str(time.shown)]
    return _Said(tuple(readings), in_digits=True)
