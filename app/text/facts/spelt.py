"""Whether the numbers in words of a text are in its translation: cardinals, ordinals, decades.

A number in words may come back as one in digits or in Roman numerals. Small ones that are other
words by chance ("un vélo neuf") may be missing.
"""

import re
from collections.abc import Sequence, Set
from itertools import pairwise

from app.text.cldr import SPACES
from app.text.facts.implied import lacks_fortnight, lacks_implied
from app.text.facts.numbers import values_of
from app.text.facts.quantities.number_words import (
    Spelt,
    knows_words_of,
    spelt_out,
    words_of,
)
from app.text.facts.quantities.parts import parts_of_units
from app.text.facts.quantities.units import is_checked, names_unit, unit_at
from app.text.facts.quantities.worded_times import says_time, worded_times
from app.text.facts.ranks import ordinals_in_words, roman_numerals
from model.text.language_codes import primary_language

MIN_IN_WORDS = 2
"""The smallest number in words that is looked for: one is an article and a pronoun, too."""

_TWO = re.compile(
    r"\b(?:both|couple|pairs?|paires?|twins?|jum\w+|twice|double\w*|either|neither|between|other|bi\w+|autre"
    r"|entre|deuxième|seconde?|ii)\b",
    re.IGNORECASE,
)
"""Words of English and French that say two of something."""

_FORTNIGHT = 15
"""A fortnight in days, which are two weeks, or fourteen days."""

_ROUND = {100, 1000, 10**6, 10**9}
"""Numbers that may be vague: a thousand thanks."""

_TIMES_IN_OTHER_WORDS = {
    7: "duration-day", 8: "duration-day", 15: "duration-day", 12: "duration-month",
    24: "duration-hour",
}  # fmt: skip
"""Lengths of time that other words may say: a week, a fortnight, a year, a day."""

_NEW = re.compile(
    rf"(?i:neuf)(?![{SPACES}]pour[{SPACES}]cent)(?:[{SPACES}](?:et|ou|que?|à|au|de?|du|en|est|dans|sans|mais|puis|pas|plus|très|pour"
    r"|chez|qui|il|elle|on|je|tu|nous|vous|ils|des|les|a)\b|[^\w\s]|\s*$)"
)
"""The French word for nine where it means new: no noun follows."""

_DECADES = {
    "en": re.compile(
        r"(?:\bthe[ ](?:early[ ]|late[ ]|mid-?)?|[12]\d)"
        r"(?:\d0['’]?s\b|(?:twen|thir|for|fif|six|seven|eigh|nine)ties\b)"
        r"|\b[12]\d\d0['’]?s\b",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        r"\b(?:années|décennie)\b(?=[  ](?:\d|soixante|quatre|vingt|trente|cin|quar))",
        re.IGNORECASE,
    ),
}
_THIRDS = re.compile(r"\b(?:un|deux|2)[  ]tiers[  ](?:d[eu]s?[  ]|d['’])", re.IGNORECASE)

_LAST = re.compile(
    r"\b(?:(?:last|past|previous|next|coming|recent)\b|derni[eè]r|pass[ée]|précédent|prochain|récent|venir)",
    re.IGNORECASE,
)
_LAST_WORDS = {
    "last", "past", "next", "derniers", "dernières", "dernieres", "prochains", "prochaines",
}  # fmt: skip
_LAST_OF_TIME = re.compile(
    r"\b(?:last|past|next)[ ][\w-]{1,30}[ ](?:minute|hour|day|week|month|year)s\b"
    r"|(?<![\w-])[\w-]{1,30}[ ](?:derni[eè]re?|prochaine?)s[ ]"
    r"(?:minutes|heures|jours|semaines|mois|an)",
    re.IGNORECASE,
)
"""A length of time that became the last or next one: `the last six weeks`."""

_SIGN_OF_HOURS = re.compile(
    r"\b(?:heures?|o['’]clock|noon|midnight|morning|afternoon|evening|night|tonight)\b"
    rf"|\d[{SPACES}]?(?:h|[ap]\.?m)\b|\d[:h]\d",
    re.IGNORECASE,
)
PART = re.compile(
    r"\b(?:fortnight|half|quarter|third)\b(?:[ ]of)?(?:[ ]an?)?\b|\b(?:quart|tiers|demie?)\b", re.I
)
"""A part of a unit, or a fortnight."""

WORDS_OF_PARTS = {"fortnight", "half", "quarter", "third", "quart", "tiers", "demi", "demie"}

_PER_CENT = re.compile(r"\bper ?cent\b|\bpour cent\b|%", re.IGNORECASE)


def lacks_number_in_words(source: str, translation: str, languages: Sequence[str]) -> bool:
    """Whether a number in words is missing.

    One that other words may say has to be missing with another number there instead. An hour and
    the one twelve hours later are the same.
    """
    if not knows_words_of(languages[-1]):
        return False
    if (
        lacks_implied(source, translation, languages)
        or lacks_fortnight(source, translation, languages)
        or (
            not words_of(translation).isdisjoint(_LAST_WORDS)
            and _LAST_OF_TIME.search(translation)
            and not _LAST.search(source)
        )
        or lacks_part(source, translation, languages)
        or lacks_part(translation, source, languages[::-1])
        or _adds_large_number(source, translation, languages)
    ):
        return True
    read = [one for one in spelt_out(source, languages[0]) if not one.is_ordinal]
    if not read:
        return False
    if _lacks_unit(source, translation, read, languages):
        return True
    times = [*worded_times(source, languages[0])]
    there = {one.value for one in spelt_out(translation, languages[-1])}
    if not times and all(one.value < MIN_IN_WORDS or one.value in there for one in read):
        return False
    values = values_of(translation, languages[-1])
    written = values | {int(digits) for digits in re.findall(r"\d{1,9}", translation)}
    not_paired = {primary_language(code) for code in languages} != {"en", "fr"}
    if not all(says_time(translation, time, languages[-1], written) for time in times):
        return True
    lost = [
        one
        for one in read
        if one.value >= MIN_IN_WORDS
        and one.value not in values
        and not any(time.start <= one.start < time.end for time in times)
        and not (one.value == 2 and (not_paired or _TWO.search(translation)))
        and not (one.value == _FORTNIGHT and values & {2, 14})
        and not _is_hour_of_12(one, source, translation, values, languages)
    ]
    if not lost or any(one.value * 100 + last.value in values for one, last in pairwise(read)):
        return False  # two numbers side by side are a year: `nineteen eighty`
    if not all(_may_be_unsaid(one, source, languages[0]) for one in lost):
        return True
    return _adds_number(source, translation, languages)


def _adds_number(source: str, translation: str, languages: Sequence[str]) -> bool:
    """Whether a translation has a number in words that its source lacks."""
    added = {
        one.value
        for one in spelt_out(translation, languages[-1])
        if one.value >= MIN_IN_WORDS and not one.is_ordinal
    }
    return bool(added and added - values_of(source, languages[0]))


def _adds_large_number(source: str, translation: str, languages: Sequence[str]) -> bool:
    """Whether a translation has a number in words, from three on, of which its source has none."""
    if not knows_words_of(languages[0]):
        return False
    added = [
        one
        for one in spelt_out(translation, languages[-1])
        if one.value > 2
        and not one.is_ordinal
        and one.value not in {*_ROUND, *_TIMES_IN_OTHER_WORDS}
        and not (one.value == 9 and _NEW.match(translation, one.start))
    ]
    there = {one.value for one in spelt_out(source, languages[0])}
    if all(one.value in there for one in added):
        return False
    values = {int(digits) for digits in re.findall(r"\d{1,9}", source)}
    values |= {*values_of(source, languages[0]), *ordinals_in_words(source, languages[0])}
    return any(all(abs(one.value - value) not in (0, 12) for value in values) for one in added)


def _may_be_unsaid(one: Spelt, text: str, language: str) -> bool:
    """Whether a number may be missing, as other words say it or it is another word."""
    if one.value in _ROUND:
        return True
    if primary_language(language) == "fr" and one.value == 9 and _NEW.match(text, one.start):
        return True
    if one.value not in _TIMES_IN_OTHER_WORDS:
        return False
    unit = unit_at(text, one.end, language)
    return unit is not None and _TIMES_IN_OTHER_WORDS[one.value] in unit.names


def _is_hour_of_12(
    one: Spelt, source: str, translation: str, values: Set[int], languages: Sequence[str]
) -> bool:
    """Whether a translation has an hour that is twelve more or less, beside a sign of hours."""
    if one.value > 24 or not {one.value + 12, one.value - 12} & values:
        return False
    if not {primary_language(code) for code in languages} <= {"en", "fr"}:
        return True
    here = source[one.end : one.end + 10], translation
    return any(map(_SIGN_OF_HOURS.search, here))


def lacks_rank_in_words(source: str, translation: str, languages: Sequence[str]) -> bool:
    """Whether an ordinal in words, a fraction or a decade is missing."""
    if not knows_words_of(languages[0]) or not knows_words_of(languages[-1]):
        return False
    here, there = (primary_language(code) for code in languages)
    decades = _DECADES.get(here), _DECADES.get(there)
    if (
        decades[0]
        and decades[1]
        and decades[0].search(source)
        and not decades[1].search(translation)
    ):
        return True
    ranks = {
        one.value for one in spelt_out(source, languages[0]) if one.is_ordinal and one.value > 2
    }
    if here == "fr" and _THIRDS.search(source):
        ranks.add(3)
    if not ranks:
        return False
    found = {
        *ordinals_in_words(translation, languages[-1]),
        *(value for _, value in roman_numerals(translation)),
        *(
            int(number)
            for number in re.findall(r"\d{1,9}", re.sub(r"(?<=\d)[,.  ](?=\d{3})", "", translation))
        ),
    }
    return not ranks <= found


def lacks_part(text: str, other: str, languages: Sequence[str]) -> bool:
    """Whether a part of a unit is missing in the other text, as a word and as an amount."""
    return any(
        not part.is_named(other, languages[-1])
        and (
            part.of_point
            or values_of(other, languages[-1]).isdisjoint(amount for amount, _ in part.amounts())
        )
        for part in set(parts_of_units(text, languages[0]))
    )


def _lacks_unit(
    source: str, translation: str, read: Sequence[Spelt], languages: Sequence[str]
) -> bool:
    """Whether the unit of a number or part in words is missing, or that it is a percentage."""
    ends = [
        one.end for one in read if one.value >= MIN_IN_WORDS or _PER_CENT.match(source, one.end + 1)
    ]
    if not words_of(source).isdisjoint(WORDS_OF_PARTS):
        ends += [part.end() for part in PART.finditer(source)]
    there = {
        name
        for part in parts_of_units(translation, languages[-1])
        for _, names in part.amounts()
        for name in names
    }
    for end in ends:
        unit = unit_at(source, end, languages[0])
        if (
            unit
            and there.isdisjoint(unit.names)
            and is_checked(source[unit.start : unit.end], unit.names)
            and names_unit(translation, unit.names, languages[-1]) is False
        ):
            return True
    return False
