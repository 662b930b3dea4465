"""Times of day in English and French words: `half past seven`, `midi moins le quart`."""

import re
from collections.abc import Iterator, Set
from itertools import pairwise
from typing import NamedTuple

from app.text.cldr import SPACES
from app.text.facts.quantities.clock_times import OF, is_at_time
from app.text.facts.quantities.number_words import numbers_in_words, spelt_out, words_of
from model.text.language_codes import primary_language

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
"""Every match of `_WORDED` has one of these words."""

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
            is_at = is_at_time(text, hours.start)
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
        is_at = minute > 30 or is_at_time(text, match.start())
        is_certain = code == "en" or (is_at and not OF.match(text, match.end()))
        yield WordedTime(hour, minute, *match.span(), is_certain)


def says_time(translation: str, time: WordedTime, language: str, values: Set[int]) -> bool:
    """Whether a translation has the hour and the minutes, however it says them.

    values  the whole numbers of the translation
    """
    if time.is_certain and primary_language(language) in _WORDED:
        exact = time.hour % 12, time.minute
        return any((hour % 12, minute) == exact for hour, minute in _times(translation, language))
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
