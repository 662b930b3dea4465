"""Whether a translation says the numbers of its source, as any language may write them.

Separators of thousands and decimals, the order of dates, clocks of 12 and of 24 hours, digits of
other scripts, symbols and units before or behind, and English and French words for numbers make no
difference. Where a number can be read in two ways ("1,234"), either will do. In languages whose
words for numbers are not known, a small number may have become a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

_SPACES = " \u00a0\u2009\u202f"
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(rf"\d{{1,3}}(?:[{_SPACES}'’٬]\d{{3}})+(?!\d)(?:[.,٫]\d+)?|\d+(?:[.,٫٬]\d+)*")
_CLOCK = re.compile(
    rf"(?<![\d.,])(\d{{1,2}})(?:[{_SPACES}]?(?::|h(?:eures?|rs?)?(?![^\W\d_])\.?"
    rf"|\.(?=\d\d[{_SPACES}]?[ap]\.?m\b))[{_SPACES}]?(\d{{2}})?(?!\d))?"
    rf"(?:[{_SPACES}]?([ap])\.?m\b\.?|[{_SPACES}](o[’']clock)\b)?",
    re.IGNORECASE,
)
_DECADE = re.compile(r"[12]\d\d0(?=s\b)")
_SCALES: dict[str, tuple[int, ...]] = {
    r"thousand|mille?|mila|tausend|тыс\w*": (3,),
    r"milli?[oó]n\w*|milh\w+|miljo\w+|mio|mln|mn|миллион\w*|млн": (6,),
    r"milli?ard\w*|mrd|mld|bn|миллиард\w*|млрд": (9,),
    r"billion\w*": (9, 12), r"trillion\w*": (12, 18),
    r"k": (3,), r"m": (6,), r"b": (9,),
}  # fmt: skip
"""Words and abbreviations for powers of ten, by their exponents; some have two scales."""
_SCALE = re.compile(
    rf"[{_SPACES}-]?(?:{'|'.join(f'({words})' for words in _SCALES)})\b"
    "|[万萬만](?P<ten_thousand>)|[億亿억](?P<hundred_million>)",
    re.IGNORECASE,
)
MAX_DIGITS = 40
"""Of a number that is compared by its value; a longer one by its digits."""


def _table(*rows: tuple[str, Sequence[int]]) -> dict[str, int]:
    return {
        word: value
        for words, values in rows
        for word, value in zip(words.split(), values, strict=True)
    }


_CARDINALS = _table(
    ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
     "fifteen sixteen seventeen eighteen nineteen twenty", range(21)),
    ("zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze "
     "quinze seize", range(17)),
    ("vingt vingts thirty trente forty quarante fifty cinquante sixty soixante seventy septante "
     "eighty huitante ninety nonante hundred cent cents thousand mille une",
     (20, 20, 30, 30, 40, 40, 50, 50, 60, 60, 70, 70, 80, 80, 90, 90, 100, 100, 100, 1000, 1000,
      1)),
    ("million millions milliard milliards", (10**6, 10**6, 10**9, 10**9)),
)  # fmt: skip
_WORDS = _CARDINALS | _table(
    ("dozen douzaine once twice", (12, 12, 1, 2)),
    ("first second third fourth fifth sixth seventh eighth ninth tenth", range(1, 11)),
    ("premier deuxième troisième quatrième cinquième sixième septième huitième neuvième "
     "dixième", range(1, 11)),
    ("première seconde tiers quart half moitié demi midi noon minuit midnight",
     (1, 2, 3, 4, 2, 2, 2, 12, 12, 0, 0)),
    ("january february march april may june july august september october november december",
     range(1, 13)),
    ("janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
     range(1, 13)),
)  # fmt: skip
_CARDINAL = "|".join(sorted(_CARDINALS, key=len, reverse=True))
_COMPOUND = re.compile(
    rf"\b(?:{_CARDINAL})(?:[{_SPACES}-](?:(?:et|and)[{_SPACES}-])?(?:{_CARDINAL})\b)+",
    re.IGNORECASE,
)
MIN_PHONE_DIGITS = 7
_LANGUAGES_OF_WORDS = {"en", "fr"}
MAX_IN_WORDS = 100
"""The largest number that may be in digits on one side and a word of an unknown language on the
other; thousands and millions may be, too."""

_ROMAN = re.compile(r"\b(?=[IVXLC])(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?=e\b|er\b|\b)")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


class _Said(NamedTuple):
    """A number by all that it may mean; what is not in digits may be left out."""

    readings: tuple[str, ...]
    in_digits: bool


def same_numbers(source: str, translation: str, languages: Sequence[str] = ("en", "fr")) -> bool:
    """Whether each number in digits of one is somewhere in the other, as often.

    languages  codes of both texts: words for numbers are known in English and French
    """
    if not (_DIGIT.search(source) or _DIGIT.search(translation)):
        return True
    one, other = _western(source), _western(translation)
    lost, added = _without_equals(list(_said(one)), list(_said(other)))
    if not (lost or added):
        return True
    knows_words = all(re.split("[-_]", code)[0] in _LANGUAGES_OF_WORDS for code in languages)
    if not knows_words and not (lost and added) and all(map(_may_be_word, [*lost, *added])):
        return True
    # Numbers of telephones are grouped in any way.
    has_marks = re.search(r"\d[.,]\d", f"{one} {other}")
    digits = _DIGIT.findall(one)
    return not has_marks and len(digits) >= MIN_PHONE_DIGITS and digits == _DIGIT.findall(other)


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


def _said(text: str) -> Iterator[_Said]:
    at = 0
    for word in re.finditer(r"[^\W\d_]+", text):
        value = _WORDS.get(word[0].casefold())
        if value is not None:
            yield _Said((str(value),), in_digits=False)
    yield from _compounds(text)
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


def _compounds(text: str) -> Iterator[_Said]:
    """Yield the numbers of several words: `trois cents`, `quatre-vingt-dix-sept`, `forty-two`."""
    for run in _COMPOUND.finditer(text):
        total = current = 0
        for word in re.findall(r"[^\W\d_]+", run[0].lower()):
            value = _CARDINALS.get(word, 0)
            if value >= 1000:
                total += max(current, 1) * value
                current = 0
            elif value == 100:
                current += max(current % 100, 1) * 100 - current % 100
            elif value == 20 and current % 100 == 4:  # quatre-vingts
                current += 76
            else:
                current += value
        yield _Said((str(total + current),), in_digits=False)


def _time(clock: re.Match[str]) -> _Said:
    hours, minutes = int(clock[1]), int(clock[2] or 0)
    afternoon = (clock[3] or "").lower() == "p" and hours < 12
    on_the_hour = () if minutes else (str(hours),)  # which may be a length of time, too
    by_24_hours = (str(hours + 12),) if afternoon and not minutes else ()
    return _Said((*on_the_hour, *by_24_hours, f"{hours % 12}:{minutes:02}"), in_digits=True)


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
    is_grouped = 0 < len(parts[0]) <= 3 and all(2 <= len(x) <= 3 for x in parts[1:-1])
    if len(marks) == 1 or (
        len(set(marks)) == 2 and marks[-1] not in marks[:-1] and is_grouped and len(parts[-2]) == 3
    ):
        values.append(Decimal("".join(parts[:-1]) + "." + parts[-1]))
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


def _roman(letters: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in letters]
    following = [*values[1:], 0]
    return sum(-one if one < after else one for one, after in zip(values, following, strict=True))
