"""Finds the numbers of a text, and writes each as another language does.

For numbers that a model does not copy: they are replaced by others that it does, and restored in
the form of the target language. Amounts keep their currency sign, which moves to the side where the
language has it. What is not understood for certain is left as it is written: dates, versions,
telephone numbers, fractions, codes, digits of other scripts, numbers that the source language does
not write so, and everything for a language without an entry in `CONVENTIONS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

Money = Literal["before", "before, apart", "behind"]


@dataclass(frozen=True, slots=True)
class Convention:
    """How a language writes numbers, by the Unicode CLDR; its narrow spaces are plain ones here.

    decimal, group  the decimal mark and the separator of thousands
    money           where a currency sign stands; behind, it is always apart
    """

    decimal: str
    group: str
    money: Money


_COMMA_AND_SPACE = Convention(",", " ", "behind")
_COMMA_AND_POINT = Convention(",", ".", "behind")
_POINT_AND_COMMA = Convention(".", ",", "before")

_SPACED = "bg cs et fi fr hu lt lv nb nn no pl ru sk sv uk".split()  # noqa: SIM905
_POINTED = "ca da de el es hr id is it ro sl sr".split()  # noqa: SIM905
_ENGLISH = "en es-MX ja ko th zh".split()  # noqa: SIM905

CONVENTIONS = {
    **dict.fromkeys(_SPACED, _COMMA_AND_SPACE),
    **dict.fromkeys(_POINTED, _COMMA_AND_POINT),
    **dict.fromkeys(_ENGLISH, _POINT_AND_COMMA),
    "nl": Convention(",", ".", "before, apart"),
    "pt": _COMMA_AND_SPACE,
    "pt-BR": Convention(",", ".", "before, apart"),
    "tr": Convention(",", ".", "before"),
}
"""By language code; a code with a region or script that has no entry is as without it."""

_SPACES = " \u00a0\u2009\u202f"
_LETTER = "A-Za-z"
_SIGN = r"(?:[A-Z]{0,2}[$€£¥₹₽₩₺₴₫₪₱฿])"
_PLAIN = rf"(?>\d{{1,3}}(?:[{_SPACES}'’]\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*)"
_SCALED = (
    rf"(?![{_SPACES}-]?(?:(?:[kmb]n?|thousand|mille|mila|tausend|mio|ml[nd]|mrd)\b|milli|milh|miljo"
    r"|bil|trill|тыс|мил|мл|万|億|亿|만|억))"
)
_EXPRESSION = re.compile(
    rf"""
    (?<![\d{_LETTER}])(?:
      (?P<phone> \+?\d+(?:[ .-]\d{{2,4}}){{3,}}(?!\d) | \+\d+(?:[ .-]?\d+)+ )
    | (?P<time> (?P<hour>\d{{1,2}}) (?:
          (?:[:.](?P<minute>\d\d))?[{_SPACES}]?(?P<half>[ap])(?:m(?![{_LETTER}])|\.m\.?)
        | [{_SPACES}]?h[{_SPACES}]?(?P<minutes>\d\d)(?!\d) ) )
    | (?P<ordinal> (?P<rank>\d{{1,4}})(?:st|nd|rd|th|er|re|e|ère|ème)(?![^\W\d_]) )
    | (?P<chain> {_PLAIN}(?:[/:×–-]{_PLAIN})+ )
    | (?P<before> (?P<sign>{_SIGN})[{_SPACES}]?(?P<amount>{_PLAIN}){_SCALED} )
    | (?P<behind> (?P<sum>{_PLAIN})[{_SPACES}]?(?P<mark>{_SIGN})(?![\d{_LETTER}]) )
    | (?P<code> (?:[A-Z][{_LETTER}]{{0,9}}-?|[{_LETTER}]{{1,3}})\d[\d{_LETTER}]*
              | \d+(?!s\b)[{_LETTER}]{{1,3}}(?![^\W_]) )
    | (?P<number> {_PLAIN} )
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)


class NumberForm(NamedTuple):
    """The span of a number, with its currency sign, and how the other language writes it."""

    start: int
    end: int
    written: str


def number_forms(text: str, source: str, target: str) -> list[NumberForm]:
    """Return the numbers of a text in order, each as the target language writes it.

    Languages are codes such as `en` or `pt-BR`. Numbers in words are not found.
    """
    here, there = _convention(source), _convention(target)
    return [
        NumberForm(
            *match.span(),
            match[0] if here is None or there is None else _written(match, here, there, target),
        )
        for match in _EXPRESSION.finditer(text)
    ]


def _convention(language: str) -> Convention | None:
    return CONVENTIONS.get(language) or CONVENTIONS.get(re.split("[-_]", language)[0])


def _written(match: re.Match[str], here: Convention, there: Convention, target: str) -> str:
    if any(one.isdecimal() and not one.isascii() for one in match[0]):
        return match[0]
    if match["time"]:
        return _time(match, target)
    if match["ordinal"]:
        return _ordinal(match, target)
    if match["before"]:
        return _amount(match["sign"], _number(match["amount"], here, there), there)
    if match["behind"]:
        return _amount(match["mark"], _number(match["sum"], here, there), there)
    if match["chain"]:
        return re.sub(_PLAIN, lambda one: _number(one[0], here, there), match[0])
    return _number(match[0], here, there) if match["number"] else match[0]


def _number(number: str, here: Convention, there: Convention) -> str:
    """Exchange the marks of a number; unchanged if the source language does not write it so."""
    group = f"[{_SPACES}]" if here.group == " " else re.escape(here.group)
    whole = rf"\d{{1,3}}(?:{group}\d{{3}})+|\d+"
    match = re.fullmatch(rf"({whole})(?:{re.escape(here.decimal)}(\d+))?", number)
    if match is None:
        return number
    integer = re.sub(group, there.group, match[1])
    return integer if match[2] is None else f"{integer}{there.decimal}{match[2]}"


def _amount(sign: str, number: str, there: Convention) -> str:
    if there.money == "behind":
        return f"{number} {sign}"
    return f"{sign}{number}" if there.money == "before" else f"{sign} {number}"


def _time(match: re.Match[str], target: str) -> str:
    """Return a time of day by 24 hours, or as it is in a language that has hours of both kinds."""
    hour, half = int(match["hour"]), match["half"]
    language = re.split("[-_]", target)[0]
    if half is None:
        return match[0] if language == "fr" else f"{hour}:{match['minutes']}"
    if language == "en" or not 1 <= hour <= 12:
        return match[0]
    hour = hour % 12 + 12 * (half.lower() == "p")
    minute = match["minute"] or "00"
    if language == "fr":
        return f"{hour} h" if minute == "00" else f"{hour} h {minute}"
    return f"{hour}:{minute}"


def _ordinal(match: re.Match[str], target: str) -> str:
    """Return an ordinal as English or French writes it; as it is in other languages."""
    rank = int(match["rank"])
    language = re.split("[-_]", target)[0]
    if language == "fr":
        return f"{rank}{'er' if rank == 1 else 'e'}"
    if language == "en":
        last = 0 if 10 < rank % 100 < 20 else rank % 10
        return f"{rank}{('th', 'st', 'nd', 'rd')[last] if last < 4 else 'th'}"
    return match[0]
