"""Lengths of hours and minutes, by value: `2 h 15`, `2 hours and 15 minutes`, `2.5 hours`."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache

from app.text.cldr import SPACES, locale_of
from app.text.facts.quantities.clock_times import MINUTE_WORD, is_at_time, time_at
from app.text.facts.quantities.units import unit_at
from app.text.spans import Span, replace

_NUMBER_OF_HOURS = re.compile(
    r"(?<![\w.,:])(?:(\d{1,3})(?:[.,](\d{1,2}))?(?![.,:]?\d)|(?:an?|une)(?=[ ]h))"
)
_PART_OF_HOUR = re.compile(
    rf"[{SPACES}](?:and[{SPACES}]a|et)[{SPACES}](?:(?P<half>half|demie?)|quarter|quart)\b"
)
_MINUTE_BEHIND = re.compile(MINUTE_WORD)
_HOUR = "duration-hour"
_MINUTE = "duration-minute"


def in_minutes(text: str, language: str) -> str:
    """Return a text with `2 h 15`, `2 hours and 15 minutes`, `2.5 hours` in minutes alone.

    An hour with minutes is a length of time unless a word says that it is one of the day: `à`.
    """
    found = list(_lengths(text, language))
    if not found:
        return text
    return replace(text, [span for span, _ in found], [f" {value} min " for _, value in found])


def _lengths(text: str, language: str) -> Iterator[tuple[Span, int]]:
    at = 0
    while number := _NUMBER_OF_HOURS.search(text, at):
        at = number.end()
        length = _length(text, number, language)
        if length is not None:
            at, minutes = length
            yield Span(number.start(), at), minutes


def _length(text: str, number: re.Match[str], language: str) -> tuple[int, int] | None:
    """Return the end of a length of time and its minutes; None for whole hours, and for others."""
    clock = time_at(text, number.start(), may_be_late=False) if number[1] else None
    if clock is not None and clock.minute and clock.has_letter:
        word = _MINUTE_BEHIND.match(text, clock.end)
        if word is None and is_at_time(text, number.start()):
            return None
        return word.end() if word else clock.end, 60 * clock.written_hour + clock.minute
    hours = Decimal(f"{number[1] or 1}.{number[2] or 0}")
    part = _PART_OF_HOUR.match(text, number.end())
    end = part.end() if part else number.end()
    unit = unit_at(text, end, language)
    if unit is None or _HOUR not in unit.names:
        return None
    end = unit.end
    if part is None and (part := _PART_OF_HOUR.match(text, end)):
        end = part.end()
    if part is not None:
        hours += Decimal("0.5") if part["half"] else Decimal("0.25")
    minutes = 0
    rest = _link(language).match(text, end)
    if part is None and rest is not None:
        more = unit_at(text, rest.end(), language)
        if more is not None and _MINUTE in more.names:
            end, minutes = more.end, int(rest["minutes"])
    total = 60 * hours + minutes
    return None if (hours % 1 == 0 and not minutes) or total % 1 else (end, int(total))


@cache
def _link(language: str) -> re.Pattern[str]:
    """Match minutes behind hours, with the language's word for `and` between or without."""
    locale = locale_of(language)
    joined = locale.list_patterns["standard"]["2"] if locale else "{0} {1}"
    word = joined.replace("{0}", "").replace("{1}", "").strip(f"{SPACES},")
    return re.compile(
        rf"\.?[{SPACES},]{{0,2}}(?:{re.escape(word)}[{SPACES}]?)?(?P<minutes>\d{{1,2}})(?![.,:]?\d)",
        re.IGNORECASE,
    )
