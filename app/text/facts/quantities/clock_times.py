"""Times of day as English and French write and say them, and lengths of hours and minutes."""

import re
from typing import Literal, NamedTuple

from app.text.cldr import SPACES
from app.text.facts.quantities.number_words import words_of

HALF = rf"[{SPACES}]?(?P<half>[ap])(?:\.?m\b\.?)"
PART_OF_DAY = (
    rf"[{SPACES},]{{1,2}}(?P<part>de[{SPACES}]l[’']après-midi|du[{SPACES}](?:soir|matin)"
    rf"|de[{SPACES}]la[{SPACES}]nuit|in[{SPACES}]the[{SPACES}](?:afternoon|evening|morning)"
    rf"|at[{SPACES}]night)\b"
)
"""A part of the day directly behind a time, which says which half of the day is meant."""

MINUTE_WORD = rf"[{SPACES}]?(?:min(?:ute)?s?|mn)(?![^\W\d_])"
"""A word for minutes behind those of an hour, which is a length of time then."""

_CLOCK = re.compile(
    rf"(?<![\d.,])(?P<hour>\d{{1,2}})(?:[{SPACES}]?(?P<mark>:|h(?:eures?|rs?)?(?![^\W\d_])\.?"
    rf"|\.(?=\d\d[{SPACES}]?[ap]\.?m\b)|[時时点點시](?=[{SPACES}]?\d\d?[{SPACES}]?[分분]))"
    rf"(?:[{SPACES}]?(?P<minute>\d{{2}}|\d(?=[{SPACES}]?[分분]))(?![{SPACES}]minute))?(?!\d))?"
    rf"(?:{HALF}|[{SPACES}](?P<sharp>o[’']clock)\b)?(?:{PART_OF_DAY})?",
    re.IGNORECASE,
)
_UNTIL = re.compile(
    rf"[{SPACES}]?(?:-|–|—|to\b|and\b|until\b|or\b)[{SPACES}]?"
    rf"(?P<hour>\d{{1,2}})(?:[:.]\d\d)?{HALF}",
    re.IGNORECASE,
)
_MIXED = re.compile(
    rf"(?<![\d.,:])(?:0?0|1[3-9]|[2-9]\d)(?:[:.]\d\d)?[{SPACES}]?[ap]\.?m\b", re.IGNORECASE
)
_HALF_NAMED = re.compile(rf"\d[{SPACES}]?[ap]\.?m\b", re.IGNORECASE)
_LENGTH = re.compile(
    r"\b(?:fallu|faut|dur\w{1,4}|pendant|durant|attend\w{0,4}|mis|pr[ie]\w{1,5}|toutes[ ]les|chaque"
    r"|last\w{0,3}|takes?|took|for|wait\w{0,3}|spent|within|every)"
    rf"[{SPACES}](?:him[ ]|her[ ]|them[ ]|me[ ]|us[ ]|you[ ])?\d{{1,3}}[{SPACES}]?"
    r"h(?:ours?|eures?|rs?)?(?![^\W\d_])",
    re.IGNORECASE,
)
"""An hour that is a length of time, because of the word in front of it."""

_LATE = re.compile(
    r"\b(?:afternoon|evening|night|tonight|midnight|après-midi|soir|soirée|nuit|minuit)s?\b",
    re.IGNORECASE,
)
_WORDS_OF_LATE = {
    "afternoon", "evening", "night", "tonight", "midnight", "midi", "soir", "soirée", "nuit",
    "minuit", "afternoons", "evenings", "nights", "tonights", "midnights", "midis", "soirs",
    "soirées", "nuits", "minuits",
}  # fmt: skip
"""Every match of `_LATE` has one of these words."""

_AT = re.compile(
    r"\b(?:à|vers|avant|après|dès|jusqu['’]à|est|était|fut|sera|until|at|by|is|was)[ ]$", re.I
)
_AT_HOUR = re.compile(r"(?<!\d[ ])\b(?:à|vers|dès)[ ]$", re.IGNORECASE)
OF = re.compile(rf"[{SPACES}](?:d(?:e[{SPACES}]|['’])|près\b)", re.IGNORECASE)
"""Words after a length of time: `après deux heures et demie de route`."""


class ClockTime(NamedTuple):
    """A time of day, or on the hour perhaps a length of time.

    hours   that may be meant, of 24; several if the text does not say which half of the day
    minute  0 if there is none
    written_hour   as the text has it, of 12 or 24
    end     of its span
    may_be_length  whether its hours may be a length of time
    has_letter     whether it is written with a word for hours, as lengths of time are, too
    """

    hours: tuple[int, ...]
    minute: int
    written_hour: int
    end: int
    may_be_length: bool
    has_letter: bool


def mixes_clocks(text: str) -> bool:
    """Whether a text has an hour above 12 with a.m. or p.m., such as `17:15 PM`."""
    return _MIXED.search(text) is not None


def is_length_of_time(text: str) -> bool:
    """Whether a text has hours that cannot be a time of day: `pendant 4 h`."""
    return _LENGTH.search(text) is not None


def names_half(text: str) -> bool:
    """Whether a text has a time of day that is a.m. or p.m."""
    return _HALF_NAMED.search(text) is not None


def names_late_part(text: str) -> bool:
    """Whether a text names a part of the day other than the morning."""
    return not words_of(text).isdisjoint(_WORDS_OF_LATE) and _LATE.search(text) is not None


def time_at(text: str, start: int, *, may_be_late: bool) -> ClockTime | None:
    """Return the time of day that starts with the digits at `start`, if there is one.

    A time without a half of the day is by 24 hours, or by either of 12 if it may be late. The first
    hour of `3 to 5 pm` is in the half that puts it before the second.
    """
    clock = _CLOCK.match(text, start)
    if clock is None:
        return None
    hour, minute = int(clock["hour"]), int(clock["minute"] or 0)
    is_time = clock["minute"] or clock["half"] or clock["sharp"] or clock["part"]
    until = None if clock["half"] or clock["part"] else _UNTIL.match(text, clock.end())
    has_letter = "h" in (clock["mark"] or "").lower()
    if not (is_time or until or has_letter):
        return None
    half = _half(clock, hour) if until is None else _half_before(hour, until)
    hours: tuple[int, ...]
    if hour > 12:
        hours = (hour,)
    elif half is not None:
        hours = (by_24_hours(hour, half),)
    elif clock["sharp"] or may_be_late:
        hours = (hour, (hour + 12) % 24)
    else:
        hours = (hour,)
    is_at = _AT_HOUR.search(text, max(start - 8, 0), start) and not OF.match(text, clock.end())
    may_be_length = not (is_time or until or is_at)
    is_half = bool(clock["half"] or clock["part"] or until)
    return ClockTime(hours, minute, hour, clock.end(), may_be_length, has_letter and not is_half)


def is_at_time(text: str, start: int) -> bool:
    """Whether the word in front of an hour says that it is one of the day."""
    return _AT.search(text, max(start - 12, 0), start) is not None


def by_24_hours(hour: int, half: Literal["a", "p"]) -> int:
    """Return an hour from 1 to 12 as one from 0 to 23."""
    return hour % 12 + 12 * (half == "p")


def half_named(part: str, hour: int) -> Literal["a", "p"]:
    """Return the half of the day of an hour in a part of the day, as `PART_OF_DAY` finds it."""
    part = part.casefold()
    if "nuit" in part or "night" in part:
        return "a" if hour <= 6 or hour == 12 else "p"
    return "a" if "matin" in part or "morning" in part else "p"


def half_before(hour: int, last: int, half: Literal["a", "p"]) -> Literal["a", "p"]:
    """Return the half of the day of the first hour of two, given the last one and its half."""
    if by_24_hours(hour, half) < by_24_hours(last, half):
        return half
    return "a" if half == "p" else "p"


def _half(clock: re.Match[str], hour: int) -> Literal["a", "p"] | None:
    if clock["half"]:
        return "p" if clock["half"].lower() == "p" else "a"
    return half_named(clock["part"], hour) if clock["part"] else None


def _half_before(hour: int, until: re.Match[str]) -> Literal["a", "p"]:
    return half_before(hour, int(until["hour"]), "p" if until["half"].lower() == "p" else "a")
