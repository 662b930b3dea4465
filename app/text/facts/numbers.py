"""Whether a translation says the numbers of its source, as any language may write them.

Separators of thousands and decimals, the order of dates, clocks of 12 and of 24 hours, digits of
other scripts, symbols and units before or behind, and English and French words for numbers make no
difference. A time has to be in the same half of the day, if the text says in which, and a negative
number negative. Where a number can be read in two ways ("1,234"), either will do, unless the
language has but one. In languages whose words for numbers are not known, a small number may have
become a word, and the halves of the day are not compared.

Without digits, a number is other only if one is missing and another one is there: in English and
French words, or in Roman numerals of two letters or more. So words that are numbers by chance ("une
voiture neuve") make no difference, and neither does a number that is left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Literal, NamedTuple

from app.text.facts.clock_times import ClockTime, mixes_clocks, names_late_part, time_at
from app.text.facts.number_conventions import SPACES, has_digit
from app.text.facts.number_words import (
    long_roman_numerals,
    numbers_in_words,
    roman_numerals,
    same_ordinals,
    spelt_out,
)
from model.text.language_codes import primary_language

_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(rf"\d{{1,3}}(?:[{SPACES}'’٬]\d{{3}})+(?!\d)(?:[.,٫]\d+)?|\d+(?:[.,٫٬]\d+)*")
_DECADE = re.compile(r"[12]\d\d0(?=s\b)")
_SCALES: dict[str, tuple[int, ...]] = {
    r"thousand|mil|mill|milles?|mila|tausend|тыс\w*": (3,),
    r"milli?[oó]n\w*|milh\w+|miljo\w+|mio|mln|mn|миллион\w*|млн": (6,),
    r"milli?ard\w*|mrd|mld|bn|миллиард\w*|млрд": (9,),
    r"billion\w*": (9, 12), r"trillion\w*": (12, 18),
    r"k": (3,), r"m": (6,), r"b": (9,),
}  # fmt: skip
"""Words and abbreviations for powers of ten, by their exponents; some have two scales."""
_SCALE = re.compile(
    rf"[{SPACES}-]?(?:{'|'.join(f'({words})' for words in _SCALES)})\b"
    "|[万萬만](?P<ten_thousand>)|[億亿억](?P<hundred_million>)",
    re.IGNORECASE,
)
MAX_DIGITS = 40
"""Maximum digits of a number that is compared by its value; a longer one is by its digits."""

MIN_PHONE_DIGITS = 7
_LANGUAGES_OF_WORDS = {"en", "fr"}
MIN_IN_WORDS = 3
"""The smallest number in words that is compared with another: one and two have other meanings."""

MAX_IN_WORDS = 100
"""The largest number that may be in digits on one side and a word of an unknown language on the
other; thousands and millions may be, too."""


_SIGNED = re.compile(r"(?<![^\s(\[«\"“=:;,])[-−–](?=[$€£¥₹]?\d)")
_BELOW_ZERO = re.compile(
    r"\b(?:minus|negati\w*|négati\w*|below|sub-?zero|under|moins|dessous|sous|unter|menos|bajo|meno"
    r"|sotto|min|onder|abaixo)\b",
    re.IGNORECASE,
)
_LANGUAGES_OF_SIGNS = {"de", "en", "es", "fr", "it", "nl", "pt"}
"""Those whose words for a negative number are above."""


_Commas = Literal["group", "decimal", "decimal, perhaps", "either"]


class _Said(NamedTuple):
    """A number by all that it may mean; what is not in digits may be left out."""

    readings: tuple[str, ...]
    in_digits: bool


def same_numbers(source: str, translation: str, languages: Sequence[str] = ("en", "fr")) -> bool:
    """Whether each number in digits of one is somewhere in the other, as often.

    Those without digits are compared more cautiously, as the module says.

    languages  codes of both texts: words for numbers are known in English and French
    """
    spoken = [primary_language(code) for code in languages]
    knows_words = _LANGUAGES_OF_WORDS.issuperset(spoken)
    if _has_another_roman(source, translation):
        return False
    if knows_words and _has_another_word(source, translation):
        return False
    if not has_digit(source, translation):
        return True
    one, other = _western(source), _western(translation)
    if mixes_clocks(other) and not mixes_clocks(one):
        return False
    lost, added = _without_equals(
        list(_said(one, _commas(spoken[0]), halves_known=knows_words)),
        list(_said(other, _commas(spoken[-1], is_strict=True), halves_known=knows_words)),
    )
    if knows_words and set(spoken) == {"en", "fr"}:
        texts = {spoken[0]: one, spoken[1]: other}
        if not same_ordinals(texts):
            return False
    if not (lost or added):
        return _same_signs(one, other) or not _LANGUAGES_OF_SIGNS.issuperset(spoken)
    if not knows_words and not (lost and added) and all(map(_may_be_word, [*lost, *added])):
        return True
    # Numbers of telephones are grouped in any way.
    has_marks = re.search(r"\d[.,]\d", f"{one} {other}")
    digits = _DIGIT.findall(one)
    return not has_marks and len(digits) >= MIN_PHONE_DIGITS and digits == _DIGIT.findall(other)


def _has_another_roman(source: str, translation: str) -> bool:
    one = long_roman_numerals(source)
    if not one:
        return False
    other = long_roman_numerals(translation)
    return not (one <= other or other <= one)


def _has_another_word(source: str, translation: str) -> bool:
    """Whether a number in words is missing, and another number in words is there instead.

    An hour and the one twelve hours later are the same.
    """
    one = {value for value in spelt_out(source) if value >= MIN_IN_WORDS}
    if not one:
        return False
    other = {value for value in spelt_out(translation) if value >= MIN_IN_WORDS}
    if not other or one == other:
        return False
    lost, added = one - _values(translation), other - _values(source)
    return any(
        abs(value - another) != 12 or max(value, another) > 24
        for value in lost
        for another in added
    )


def _values(text: str) -> set[int]:
    return {
        *numbers_in_words(text),
        *(int(number) for number in re.findall(r"\d{1,40}", _western(text))),
        *(value for _, value in roman_numerals(text)),
    }


def _commas(language: str, *, is_strict: bool = False) -> _Commas:
    """Return what a comma before three digits is.

    A French source may write 80,000 as English does, which a French translation must not.
    """
    if language == "en":
        return "group"
    if language == "fr":
        return "decimal" if is_strict else "decimal, perhaps"
    return "either"


def _same_signs(one: str, other: str) -> bool:
    """Whether as many numbers are negative; those of a text with a word for it may be."""
    fewer, more = sorted((one, other), key=lambda text: len(_SIGNED.findall(text)))
    if len(_SIGNED.findall(fewer)) == len(_SIGNED.findall(more)):
        return True
    return _BELOW_ZERO.search(fewer) is not None


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


def _western(text: str) -> str:
    """With European digits for those of any script, raised ones and the like left alone."""
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.decimal(character)) if character.isdecimal() else character
        for character in text
    )


def _said(text: str, commas: _Commas, *, halves_known: bool) -> Iterator[_Said]:
    for value in numbers_in_words(text):
        yield _Said((str(value),), in_digits=False)
    for _, value in roman_numerals(text):
        yield _Said((str(value),), in_digits=False)
    at = 0
    may_be_late = names_late_part(text)
    while number := _NUMBER.search(text, at):
        if time := time_at(text, number.start(), may_be_late=may_be_late):
            yield _time(time, halves_known=halves_known)
            at = time.end
            continue
        at = number.end()
        if decade := _DECADE.match(text, number.start()):
            yield _Said((decade[0], decade[0][-2:]), in_digits=True)
            continue
        yield from _read(number[0], _SCALE.match(text, at), commas)


def _time(time: ClockTime, *, halves_known: bool) -> _Said:
    readings = [f"{hour}:{time.minute:02}" for hour in time.hours]
    if not time.minute:  # which may be a length of time, too
        readings += map(str, time.hours)
    if not halves_known:
        readings += [f"{time.shown % 12}:{time.minute:02} of 12"]
        readings += [] if time.minute else [str(time.shown)]
    return _Said(tuple(readings), in_digits=True)


def _read(number: str, scale: re.Match[str] | None, commas: _Commas) -> Iterator[_Said]:
    if len(number) > MAX_DIGITS:
        yield _Said((re.sub(r"\D", "", number),), in_digits=True)
        return
    parts = re.split(r"[.,٫٬]", re.sub(rf"[{SPACES}'’]", "", number))
    marks = re.findall(r"[.,٫٬]", number)
    whole = len(set(marks)) == 1 and 0 < len(parts[0]) <= 3 and all(len(x) == 3 for x in parts[1:])
    values: list[Decimal] = []
    if whole or not marks:
        values.append(Decimal("".join(parts)))
    is_grouped = 0 < len(parts[0]) <= 3 and all(2 <= len(x) <= 3 for x in parts[1:-1])
    if len(marks) == 1 or (
        len(set(marks)) == 2 and marks[-1] not in marks[:-1] and is_grouped and len(parts[-2]) == 3
    ):
        fraction = Decimal("".join(parts[:-1]) + "." + parts[-1])
        if not values or marks[0] != ",":
            values.append(fraction)
        elif commas == "decimal" or (commas == "decimal, perhaps" and not number.endswith("0")):
            values = [fraction]
        elif commas != "group":
            values.append(fraction)
    if not values:  # a date, or a version
        for part in parts:
            yield _Said((_written(Decimal(part)),), in_digits=True)
        return
    exponents = _exponents(scale) if scale else ()
    scaled = [value.scaleb(exponent) for value in values for exponent in exponents]
    yield _Said(tuple(map(_written, [*scaled, *values])), in_digits=True)


def _exponents(scale: re.Match[str]) -> tuple[int, ...]:
    if scale["ten_thousand"] is not None:
        return (4,)
    if scale["hundred_million"] is not None:
        return (8,)
    return list(_SCALES.values())[(scale.lastindex or 1) - 1]


def _written(value: Decimal) -> str:
    return f"{value.normalize():f}"
