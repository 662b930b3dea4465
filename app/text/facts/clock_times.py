"""Times of day as English and French write and say them, and lengths of hours and minutes."""

import re
from collections.abc import Iterator, Set
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import Literal, NamedTuple

from app.text.facts.cldr import SPACES, locale_of
from app.text.facts.number_words import numbers_in_words, spelt_out, words_of
from app.text.facts.quantities import unit_at
from app.text.spans import Span, replace
from model.text.language_codes import primary_language

HALF = rf"[{SPACES}]?(?P<half>[ap])(?:\.?m\b\.?)"
PART = (
    rf"[{SPACES},]{{1,2}}(?P<part>de[{SPACES}]l[’']après-midi|du[{SPACES}](?:soir|matin)"
    rf"|de[{SPACES}]la[{SPACES}]nuit|in[{SPACES}]the[{SPACES}](?:afternoon|evening|morning)"
    rf"|at[{SPACES}]night)\b"
)
"""A part of the day directly behind a time, which says which half of the day is meant."""

MINUTE_WORD = rf"[{SPACES}]?(?:min(?:ute)?s?|mn)(?![^\W\d_])"
"""A word for minutes behind those of an hour, which is a length of time then."""

_CLOCK = re.compile(
    rf"(?<![\d.,])(?P<hour>\d{{1,2}})(?:[{SPACES}]?(?P<mark>:|h(?:eures?|rs?)?(?![^\W\d_])\.?"
    rf"|\.(?=\d\d[{SPACES}]?[ap]\.?m\b))(?:[{SPACES}]?(?P<minute>\d{{2}})(?![{SPACES}]minute))?(?!\d))?"
    rf"(?:{HALF}|[{SPACES}](?P<sharp>o[’']clock)\b)?(?:{PART})?",
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
"""If `_LATE` matches a text, it has one of these words."""


class ClockTime(NamedTuple):
    """A time of day, or on the hour perhaps a length of time.

    hours   that may be meant, of 24; several if the text does not say which half of the day
    minute  0 if there is none
    shown   the hour as it is written
    end     of its span
    may_be_length  whether its hours may be a length of time
    has_letter     whether it is written with a word for hours, as lengths of time are, too
    """

    hours: tuple[int, ...]
    minute: int
    shown: int
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
    is_at = _AT_HOUR.search(text, max(start - 8, 0), start) and not _OF.match(text, clock.end())
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
    """Return the half of the day of an hour in a part of the day, as `PART` finds it."""
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


_WORDED_HOUR = {
    "en": "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|noon|midnight",
    "fr": "une|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|midi|minuit",
}
_WORDED = {
    "en": re.compile(
        r"\b(?:(?P<half>half)|(?:a[ ])?(?P<quarter>quarter)"
        r"|(?P<minutes>five|ten|twenty(?:-five)?))"
        rf"[ ](?P<side>past|to)[ ](?P<hour>{_WORDED_HOUR['en']}|\d{{1,2}})\b(?![:.]\d)",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        rf"\b(?P<hour>(?:{_WORDED_HOUR['fr']})(?:[{SPACES}]heures?|(?<=midi)|(?<=minuit))"
        rf"|\d{{1,2}}[{SPACES}]?(?:h|heures?))[{SPACES}](?P<side>et|moins)[{SPACES}](?:le[{SPACES}])?"
        r"(?:(?P<half>demie?)|(?P<quarter>quart)|(?P<minutes>cinq|dix|vingt(?:-cinq)?))\b",
        re.IGNORECASE,
    ),
}
_WORDS_OF_MINUTES = {
    "en": {"half", "quarter", "five", "ten", "twenty"},
    "fr": {"demi", "demie", "quart", "cinq", "dix", "vingt"},
}
"""Each time in words has one of these words."""

_AT = re.compile(
    r"\b(?:à|vers|avant|après|dès|jusqu['’]à|est|était|fut|sera|until|at|by|is|was)[ ]$", re.I
)
_AT_HOUR = re.compile(r"(?<!\d[ ])\b(?:à|vers|dès)[ ]$", re.IGNORECASE)
_OF = re.compile(rf"[{SPACES}](?:d(?:e[{SPACES}]|['’])|près\b)", re.IGNORECASE)
"""Words after a length of time: `après deux heures et demie de route`."""

_HALVES = re.compile(r"\b(?:half|demie?)\b", re.IGNORECASE)
_QUARTERS = re.compile(r"\b(?:quarters?|quarts?)\b", re.IGNORECASE)


class WordedTime(NamedTuple):
    """A time of day with its hour as written, possibly on a 12-hour clock, and its span.

    is_certain  whether it cannot be a length of time, as `deux heures et demie` can
    """

    hour: int
    minute: int
    start: int
    end: int
    is_certain: bool


def worded_times(text: str, language: str) -> Iterator[WordedTime]:
    """Yield the times of day that a text says in words."""
    code = primary_language(language)
    if code not in _WORDED:
        return
    for hours, minutes in pairwise(spelt_out(text, language) if code == "fr" else ()):
        between = text[hours.end : minutes.start].strip(SPACES)
        if between in ("heure", "heures") and hours.value < 25 and 0 < minutes.value < 60:
            is_at = _AT.search(text, max(hours.start - 12, 0), hours.start) is not None
            yield WordedTime(hours.value, minutes.value, hours.start, minutes.end, is_at)
    if words_of(text).isdisjoint(_WORDS_OF_MINUTES[code]):
        return
    for match in _WORDED[code].finditer(text):
        named = match["hour"].lower()
        digits = re.match(r"\d+", named)
        values = [int(digits[0])] if digits else [*numbers_in_words(match["hour"], language)]
        if not values or not (hour := values[0]) <= 24:
            continue
        minute = 30 if match["half"] else 15 if match["quarter"] else 0
        if match["minutes"]:
            minute = spelt_out(match["minutes"], language)[0].value
        if match["side"].lower() in ("to", "moins"):
            hour, minute = (hour - 1) % 24 or 12, 60 - minute
        is_at = minute > 30 or bool(_AT.search(text, max(match.start() - 12, 0), match.start()))
        is_certain = code == "en" or (is_at and not _OF.match(text, match.end()))
        yield WordedTime(hour, minute, *match.span(), is_certain)


def says_time(translation: str, time: WordedTime, language: str, values: Set[int]) -> bool:
    """Whether a translation has the hour and the minutes, however it says them.

    values  the whole numbers of the translation
    """
    if time.is_certain and primary_language(language) in _WORDED:
        shown = time.hour % 12, time.minute
        return any((hour % 12, minute) == shown for hour, minute in _times(translation, language))
    later = time.hour % 12 + 1
    if time.minute == 30:
        named = _HALVES.search(translation) is not None
    else:
        named = time.minute in (15, 45) and _QUARTERS.search(translation) is not None
    if time.hour == 1 and named and not time.is_certain:
        return True  # `an hour and a half`
    if values & {time.hour, (time.hour + 12) % 24} and (time.minute in values or named):
        return True
    is_before = named or 60 - time.minute in values
    return time.minute > 30 and is_before and bool(values & {later, (later + 12) % 24})


def _times(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Yield the hours and minutes of what may be times of day with minutes, in digits or words."""
    for worded in worded_times(text, language):
        yield worded.hour, worded.minute
    for digits in re.finditer(
        rf"(?<!\d)(\d{{1,2}})[{SPACES}]?(?:[:.]|h\w*)[{SPACES}]?(\d\d)", text
    ):
        yield int(digits[1]), int(digits[2])
    for hour, minutes in pairwise(spelt_out(text, language)):
        between = text[hour.end : minutes.start]
        if len(between) == 1 or between.strip() in ("heure", "heures"):
            yield hour.value, minutes.value


_NUMBER_OF_HOURS = re.compile(
    r"(?<![\w.,:])(?:(\d{1,3})(?:[.,](\d{1,2}))?(?![.,:]?\d)|(?:an?|une)(?=[ ]h))"
)
_PART_OF_HOUR = re.compile(
    rf"[{SPACES}](?:and[{SPACES}]a|et)[{SPACES}](?:(?P<half>half|demie?)|quarter|quart)\b"
)
_MINUTE_BEHIND = re.compile(MINUTE_WORD)
_HOUR, _MINUTE = "duration-hour", "duration-minute"


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
        return word.end() if word else clock.end, 60 * clock.shown + clock.minute
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
