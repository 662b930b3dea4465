"""Finds the numbers of a text, and writes each as another language does.

For numbers that a model does not copy: they are replaced by others that it does, and restored in
the form of the target language. Amounts keep their currency sign, which moves to the side where the
language has it, and a time of day becomes one by 24 hours, unless the language has both kinds. What
is not understood for certain is left as it is written: dates, versions, telephone numbers,
fractions, codes, digits of other scripts, Roman numerals, numbers that the source language does not
write so, and everything for a language without a convention.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from app.text.facts.clock_times import PART, by_24_hours, half_before, half_named
from app.text.facts.number_conventions import SPACES, Convention, convention_of
from model.text.language_codes import primary_language

_LETTER = "A-Za-z"
_SIGN = r"(?:[A-Z]{0,2}[$€£¥₹₽₩₺₴₫₪₱฿])"
_PLAIN = rf"(?>\d{{1,3}}(?:[{SPACES}'’]\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*)"
_SCALED = (
    rf"(?![{SPACES}-]?(?:(?:[kmb]n?|thousand|mille|mila|tausend|mio|ml[nd]|mrd)\b|milli|milh|miljo"
    r"|bil|trill|тыс|мил|мл|万|億|亿|만|억))"
)
_M = rf"(?:m(?![{_LETTER}])|\.m\.?)"
_UNTIL = (
    rf"[{SPACES}]?(?:-|–|—|to\b|and\b|until\b|or\b)[{SPACES}]?(?P<last>\d{{1,2}})(?:[:.]\d\d)?"
    rf"[{SPACES}]?(?P<last_half>[ap]){_M}"
)
_EXPRESSION = re.compile(
    rf"""
    (?<![\d{_LETTER}])(?:(?<![^\s(\[])(?P<minus>[-−])(?=[\d$€£¥]))?(?:
      (?P<phone> \+?\d+(?:[ .-]\d{{2,4}}){{3,}}+(?![.,]?\d) | \+\d+(?:[ .-]?\d+)+ )
    | (?P<time> (?P<hour>\d{{1,2}}) (?:
          (?: [:.](?P<minute>\d\d) | [{SPACES}]?h(?:eures?)?(?:[{SPACES}]?(?P<m>\d\d)(?!\d))? )?
          (?: [{SPACES}]?(?P<half>[ap]){_M} | {PART} | (?={_UNTIL}) )
        | [{SPACES}]?h[{SPACES}]?(?P<minutes>\d\d)(?!\d) ) )
    | (?P<ordinal> (?P<rank>\d{{1,4}})(?:st|nd|rd|th|er|re|e|ère|ème)(?![^\W\d_]) )
    | (?P<chain> {_PLAIN}(?:[/:×–-]{_PLAIN})+ )
    | (?P<before> (?P<sign>{_SIGN})[{SPACES}]?(?P<amount>{_PLAIN}){_SCALED} )
    | (?P<behind> (?P<sum>{_PLAIN})[{SPACES}]?(?P<mark>{_SIGN})(?![\d{_LETTER}]) )
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
    here, there = convention_of(source), convention_of(target)
    return [
        NumberForm(
            *match.span(),
            match[0] if here is None or there is None else _written(match, here, there, target),
        )
        for match in _EXPRESSION.finditer(text)
    ]


def _written(match: re.Match[str], here: Convention, there: Convention, target: str) -> str:
    if any(one.isdecimal() and not one.isascii() for one in match[0]):
        return match[0]
    minus = match["minus"] or ""
    if match["time"]:
        return minus + _time(match, target)
    if match["ordinal"]:
        return minus + _ordinal(match, target)
    if match["before"]:
        return minus + _amount(match["sign"], _number(match["amount"], here, there), there)
    if match["behind"]:
        return minus + _amount(match["mark"], _number(match["sum"], here, there), there)
    if match["chain"]:
        return re.sub(_PLAIN, lambda one: _number(one[0], here, there), match[0])
    if match["number"]:
        return minus + _number(match["number"], here, there)
    return match[0]


def _number(number: str, here: Convention, there: Convention) -> str:
    """Exchange the marks of a number; unchanged if the source language does not write it so."""
    group = f"[{SPACES}]" if here.group == " " else re.escape(here.group)
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
    hour, half = int(match["hour"]), _half(match)
    minute = match["minute"] or match["m"] or match["minutes"] or "00"
    language = primary_language(target)
    if half is None:
        return match["time"] if language == "fr" else f"{hour}:{minute}"
    if hour > 12:
        return f"{hour}:{minute}" if match["part"] else match["time"]
    if language == "en":
        is_english = match["half"] or match["last_half"]
        return match["time"] if is_english else f"{hour}:{minute} {half}m"
    hour = by_24_hours(hour, half)
    if language == "fr":
        return f"{hour} h" if minute == "00" else f"{hour} h {minute}"
    return f"{hour}:{minute}"


def _half(match: re.Match[str]) -> Literal["a", "p"] | None:
    hour = int(match["hour"])
    if match["half"]:
        return "p" if match["half"].lower() == "p" else "a"
    if match["last_half"]:
        last_half: Literal["a", "p"] = "p" if match["last_half"].lower() == "p" else "a"
        return half_before(hour, int(match["last"]), last_half)
    return half_named(match["part"], hour) if match["part"] else None


def _ordinal(match: re.Match[str], target: str) -> str:
    """Return an ordinal as English or French writes it; as it is in other languages."""
    rank = int(match["rank"])
    language = primary_language(target)
    if language == "fr":
        return f"{rank}{'er' if rank == 1 else 'e'}"
    if language == "en":
        last = 0 if 10 < rank % 100 < 20 else rank % 10
        return f"{rank}{('th', 'st', 'nd', 'rd')[last] if last < 4 else 'th'}"
    return match[0]
