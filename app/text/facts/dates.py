"""Compares the months, days of the week, eras and centuries of a source and its translation."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import product

from app.text.cldr import (
    SPACES,
    Calendar,
    era_names,
    letters_of,
    month_names,
    unit_words,
    whole_names,
)
from app.text.facts.implied import NOUNS_OF_NUMBERS
from app.text.facts.numbers import has_digit
from app.text.facts.quantities.number_words import WORD, knows_words_of, spelt_out, words_of
from app.text.facts.quantities.units import names_unit
from model.text.language_codes import primary_language

_NUMBERED_MONTH = re.compile(r"(\d{1,2})[ ]?[月월]|tháng (\d{1,2})")
_BEFORE_ERA = re.compile(
    r"(?:\d|\b(?:centur(?:y|ies)|siècles?|millenni(?:um|a)|millénaires?|Jahrhunderts?|siglos?"
    r"|secol[oi]|séculos?|eeuw)\b)([^\W\d_]*)([^\d,;()]{0,40})",
    re.IGNORECASE,
)
_OF_CENTURY = re.compile(
    rf"\b(?:[IVXLC]+|\d\d?)(?:st|nd|rd|th|er|e|i?[eè]me)[{SPACES}-]([^\W\d_]+)"
)
_CENTURY = "duration-century"
_IN_DIGITS = re.compile(r"\d[./-]\d|\d[月월]")
"""A date without the name of its month."""

_INFLECTED = 5
"""Letters of a name of a month or day beyond which its last two may be others."""


def same_dates(source: str, translation: str, languages: Sequence[str]) -> bool:
    """Whether months, days of the week, and the eras beside a year are the same."""
    if not (
        _same_names("days", source, translation, languages)
        and _same_names("months", source, translation, languages)
    ):
        return False
    if not has_digit(source) and not _BEFORE_ERA.search(source):
        return True
    here, there = _months(source, languages[0]), _months(translation, languages[-1])
    in_digits = _IN_DIGITS.search(translation)
    is_named = not there and _may_name(here, "months", translation, languages[-1])
    if here != there and here and not is_named and (there or not in_digits):
        return False
    if there and not (here or _IN_DIGITS.search(source) or spelt_out(source, languages[0])):
        return False  # `31 in July` is not a date
    texts = source, translation
    for one, other in ((0, 1), (1, 0)):
        for word in _OF_CENTURY.findall(texts[one]):
            if unit_words(languages[-one]).get(word.lower()) == _CENTURY and (
                names_unit(texts[other], (_CENTURY,), languages[-other]) is False
            ):
                return False
    return not (
        _is_before_christ(source, languages[0])
        and era_names(languages[-1]).get("before")
        and not _is_before_christ(translation, languages[-1])
    )


def _same_names(of: Calendar, source: str, translation: str, languages: Sequence[str]) -> bool:
    """Whether the names of months or days that one text has may be in the other."""
    texts = source, translation
    for one, other in ((0, 1), (1, 0)):
        if words_of(texts[one]).isdisjoint(words_of_dates(languages[-one])):
            continue
        names = whole_names(languages[-one], of)
        found = _whole_names(languages[-one], of).findall(texts[one])
        values = {names[word.lower()] for word in found}
        if not _may_name(values, of, texts[other], languages[-other]):
            return False
    return True


@cache
def words_of_dates(language: str) -> frozenset[str]:
    """Return the words of the names of months and days, their plurals, and nouns of numbers."""
    names = {*whole_names(language, "months"), *whole_names(language, "days")}
    if not knows_words_of(language):  # it inflects them
        return frozenset()
    words = {word for name in names for word in WORD.findall(name)} - {"may", "march"}
    nouns = NOUNS_OF_NUMBERS.get(primary_language(language), ())
    return frozenset({*words, *(f"{word}s" for word in words), *nouns})


@cache
def _whole_names(language: str, of: Calendar) -> re.Pattern[str]:
    """Match the names of months or days, but those that are other words, too."""
    names = "|".join(map(re.escape, {*whole_names(language, of)} - {"may", "march"}))
    plural = "s?" if of == "days" else ""
    return re.compile(rf"(?<!\w)({names}){plural}(?!\w)", re.IGNORECASE)


def _may_name(values: set[int], of: Calendar, text: str, language: str) -> bool:
    """Whether a text may name all the months or days, inflected, or months in digits."""
    if not values:
        return True
    names = {**whole_names(language, of), **(month_names(language) if of == "months" else {})}
    if not names or (of == "months" and _IN_DIGITS.search(text)):
        return True
    lowered = text.lower()
    stems = [
        (word[:-2] if len(word) > _INFLECTED else word, value) for word, value in names.items()
    ]
    return values <= {value for stem, value in stems if stem in lowered}


def _months(text: str, language: str) -> set[int]:
    names = month_names(language)
    may_be_named = not words_of(text).isdisjoint(_first_words(language))
    found = _dates(language).findall(text) if may_be_named else []
    if found:
        words = {one or other for one, other in found} - {"may", "march"}
        return {names[word.lower()] for word in words}
    return {int(one or other) for one, other in _NUMBERED_MONTH.findall(text)}


@cache
def _first_words(language: str) -> frozenset[str]:
    """Return the first words of the names of months."""
    return frozenset(found[0] for name in month_names(language) if (found := WORD.search(name)))


@cache
def _dates(language: str) -> re.Pattern[str]:
    words = "|".join(map(re.escape, sorted(month_names(language), key=len, reverse=True)))
    day = r"\d{1,2}(?:st|nd|rd|th|er|\.|º)?"
    return re.compile(
        rf"(?<!\d){day}[{SPACES}](?:(?:of|de|d['’])[{SPACES}]?)?({words})(?![^\W_])"
        rf"|(?<![^\W_])({words})\.?[{SPACES}]{day}(?![\d:]|[.,]\d)",
        re.IGNORECASE,
    )


def _is_before_christ(text: str, language: str) -> bool:
    """Whether a year in the text is marked as before Christ, by the language's era names."""
    names = era_names(language).get("before", frozenset())
    for match in _BEFORE_ERA.finditer(text):
        words = WORD.findall((match[1] + " " + match[2]).lower())
        for start, n in product(range(len(words)), range(1, 4)):
            if "".join(words[start : start + n]) in names:
                return True
    return any(name in letters_of(text) for name in names if not name.isascii())
