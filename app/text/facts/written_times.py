"""Writes times of day and lengths of time as another language does."""

import re
from datetime import time
from typing import Literal

from app.text.facts.cldr import SPACES, locale_of
from app.text.facts.clock_times import (
    PART,
    by_24_hours,
    half_before,
    half_named,
    is_length_of_time,
)
from model.text.language_codes import primary_language

_M = r"(?:m(?![A-Za-z])|\.m\.?)"
_UNTIL = (
    rf"[{SPACES}]?(?:-|–|—|to\b|and\b|until\b|or\b)[{SPACES}]?(?P<last>\d{{1,2}})(?:[:.]\d\d)?"
    rf"[{SPACES}]?(?P<last_half>[ap]){_M}"
)
TIME = rf"""
    (?P<hour>\d{{1,2}}) (?:
          (?: [:.](?P<minute>\d\d) | [{SPACES}]?h(?:eures?)?(?:[{SPACES}]?(?P<m>\d\d)(?!\d))? )?
          (?: [{SPACES}]?(?P<half>[ap]){_M} | {PART} | (?={_UNTIL}) )
        | [{SPACES}]?h[{SPACES}]?(?P<minutes>\d\d)(?!\d)
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
