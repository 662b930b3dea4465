"""Whether a translation says the numbers of its source, as any language may write them.

Separators of thousands and decimals, the order of dates, clocks of 12 and of 24 hours, digits of
other scripts, symbols and units before or behind, and English and French words for numbers make no
difference. Where a number can be read in two ways ("1,234"), either will do.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

_SPACES = " \u00a0\u2009\u202f"
_NUMBER = re.compile(rf"\d{{1,3}}(?:[{_SPACES}'’٬]\d{{3}})+(?!\d)(?:[.,٫]\d+)?|\d+(?:[.,٫٬]\d+)*")
_CLOCK = re.compile(
    rf"(?<![\d.,])(\d{{1,2}})(?:[{_SPACES}]?(?::|h(?:eures?|rs?)?(?![^\W\d_])\.?"
    rf"|\.(?=\d\d[{_SPACES}]?[ap]\.?m\b))[{_SPACES}]?(\d{{2}})?(?!\d))?"
    rf"(?:[{_SPACES}]?([ap])\.?m\b\.?|[{_SPACES}](o[’']clock)\b)?",
    re.IGNORECASE,
)
_DECADE = re.compile(r"[12]\d\d0(?=s\b)")
_SCALE = re.compile(
    rf"[{_SPACES}-]?(thousand|mille|millions?|billions?|milliards?|trillions?|bn|mn|[kmb])\b",
    re.IGNORECASE,
)
_SCALES: dict[str, tuple[int, ...]] = {
    "thousand": (3,), "mille": (3,), "k": (3,), "million": (6,), "mn": (6,), "m": (6,),
    "billion": (9, 12), "bn": (9,), "b": (9,), "milliard": (9,), "trillion": (12, 18),
}  # fmt: skip
MAX_DIGITS = 40
"""Of a number that is compared by its value; a longer one by its digits."""

_WORDS = {
    word: value
    for words, values in (
        ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
         "fifteen sixteen seventeen eighteen nineteen twenty", range(21)),
        ("zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze "
         "quinze seize", range(17)),
        ("vingt thirty trente forty quarante fifty cinquante sixty soixante seventy eighty ninety "
         "hundred cent thousand mille une dozen douzaine once twice",
         (20, 30, 30, 40, 40, 50, 50, 60, 60, 70, 80, 90, 100, 100, 1000, 1000, 1, 12, 12, 1, 2)),
        ("first second third fourth fifth sixth seventh eighth ninth tenth", range(1, 11)),
        ("premier deuxième troisième quatrième cinquième sixième septième huitième neuvième "
         "dixième", range(1, 11)),
        ("première seconde tiers quart half moitié demi midi noon minuit midnight",
         (1, 2, 3, 4, 2, 2, 2, 12, 12, 0, 0)),
        ("january february march april may june july august september october november december",
         range(1, 13)),
        ("janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
         range(1, 13)),
    )
    for word, value in zip(words.split(), values, strict=True)
}  # fmt: skip
_ROMAN = re.compile(r"\b(?=[IVXLC])(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?=e\b|er\b|\b)")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


class _Said(NamedTuple):
    """A number by all that it may mean; what is not in digits may be left out."""

    readings: tuple[str, ...]
    in_digits: bool


def same_numbers(source: str, translation: str) -> bool:
    """Whether each number in digits of one is somewhere in the other, as often."""
    if not (re.search(r"\d", source) or re.search(r"\d", translation)):
        return True
    one, other = _western(source), _western(translation)
    if _are_all_in(list(_said(one)), list(_said(other))):
        return True
    # Numbers of telephones are grouped in any way.
    has_marks = re.search(r"\d[.,]\d", f"{one} {other}")
    return not has_marks and re.findall(r"\d", one) == re.findall(r"\d", other)


def _are_all_in(one: Sequence[_Said], other: Sequence[_Said]) -> bool:
    """Every number in digits of either has its own in the other, one in digits if there is one."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for index in sorted(range(len(other)), key=lambda index: other[index].in_digits):
        for reading in other[index].readings:
            waiting[reading].append(index)
    taken: set[int] = set()
    for said in sorted(one, key=lambda said: not said.in_digits):
        found = next(_free(said, waiting, taken), None)
        if found is not None:
            taken.add(found)
        elif said.in_digits:
            return False
    return all(index in taken for index, said in enumerate(other) if said.in_digits)


def _free(said: _Said, waiting: dict[str, list[int]], taken: set[int]) -> Iterator[int]:
    for reading in said.readings:
        places = waiting.get(reading, [])
        while places and places[-1] in taken:
            places.pop()
        if places:
            yield places[-1]


def _western(text: str) -> str:
    """With European digits for those of any script, raised ones and the like left alone."""
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.decimal(character)) if character.isdecimal() else character
        for character in text
    )


def _said(text: str) -> Iterator[_Said]:
    at = 0
    for word in re.finditer(r"[^\W\d_]+", text):
        value = _WORDS.get(word[0].casefold())
        if value is not None:
            yield _Said((str(value),), in_digits=False)
    for roman in _ROMAN.finditer(text):
        if roman[0] in ("", "I"):  # which is a pronoun
            continue
        yield _Said((str(_roman(roman[0])),), in_digits=False)
    while number := _NUMBER.search(text, at):
        clock = _CLOCK.match(text, number.start())
        if (clock and any(clock.group(2, 3, 4))) or (clock and "h" in clock[0].lower()):
            yield _time(clock)
            at = clock.end()
            continue
        at = number.end()
        if decade := _DECADE.match(text, number.start()):
            yield _Said((decade[0], decade[0][-2:]), in_digits=True)
            continue
        yield from _read(number[0], _SCALE.match(text, at))


def _time(clock: re.Match[str]) -> _Said:
    hours, minutes = int(clock[1]), int(clock[2] or 0)
    on_the_hour = () if minutes else (str(hours),)  # which may be a length of time, too
    return _Said((*on_the_hour, f"{hours % 12}:{minutes:02}"), in_digits=True)


def _read(number: str, scale: re.Match[str] | None) -> Iterator[_Said]:
    if len(number) > MAX_DIGITS:
        yield _Said((re.sub(r"\D", "", number),), in_digits=True)
        return
    parts = re.split(r"[.,٫٬]", re.sub(rf"[{_SPACES}'’]", "", number))
    marks = re.findall(r"[.,٫٬]", number)
    whole = len(set(marks)) == 1 and 0 < len(parts[0]) <= 3 and all(len(x) == 3 for x in parts[1:])
    values: list[Decimal] = []
    if whole or not marks:
        values.append(Decimal("".join(parts)))
    if len(marks) == 1 or (len(set(marks)) == 2 and marks[-1] not in marks[:-1]):
        values.append(Decimal("".join(parts[:-1]) + "." + parts[-1]))
    if not values:  # a date, or a version
        for part in parts:
            yield _Said((_written(Decimal(part)),), in_digits=True)
        return
    exponents = _SCALES[scale[1].lower().removesuffix("s")] if scale else ()
    scaled = [value.scaleb(exponent) for value in values for exponent in exponents]
    yield _Said(tuple(map(_written, [*scaled, *values])), in_digits=True)


def _written(value: Decimal) -> str:
    return f"{value.normalize():f}"


def _roman(letters: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in letters]
    following = [*values[1:], 0]
    return sum(-one if one < after else one for one, after in zip(values, following, strict=True))
