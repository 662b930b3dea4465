"""Whether the number or time that a noun implies is in a translation: noon, fortnight, forties."""

import re
from collections.abc import Sequence

from app.text.facts.numbers import values_of
from app.text.facts.quantities.number_words import words_of
from model.text.language_codes import primary_language

_FORTNIGHT = re.compile(r"\b(?:fortnight|quinz|quatorze|deux[  ]semaines)", re.IGNORECASE)
NOUNS_OF_NUMBERS = {
    "en": {"noon", "midday", "midnight", "twenties", "thirties", "forties", "fifties", "sixties",
           "fiver", "tenner"},
    "fr": {
        "midi", "minuit", "quinzaine", "vingtaine", "trentaine", "quarantaine", "cinquantaine",
        "soixantaine", "demie", "quart",
    },
}  # fmt: skip
_IMPLIED = {
    ("en", "fr"): {
        r"\b(?:noon|midday)\b": r"\bmidi\b|\b12\b",
        r"\bfiver\b": r"\b(?:5|cinq)\b",
        r"\btenner\b": r"\b(?:10|dix)\b",
        r"\bmidnight\b": r"\bminuit\b|\b(?:0|00|24)\b",
        r"\bin (?:his|her|their|my|your|our) (?:early |mid-?|late )?\w+ties\b": (
            r"aine\b|\bans\b|\d0|années"
        ),
    },
    ("fr", "en"): {
        r"\bà midi\b": r"\b(?:noon|midday|lunch\w*|12)\b",
        r"\b(?:à|avant|après|vers) minuit\b": r"\b(?:midnight|12|00?|24)\b",
        r"\bla (?:vingt|trent|quarant|cinquant|soixant)aine\b(?! (?:de|d['’]))": r"ties\b|\d0|ty\b",
        r"\bquinzaine\b(?! (?:de|d['’]))": (
            r"fortnight|two[ -]weeks?|half|\b(?:15|14|fifteen|fourteen)[ -]days?"
        ),
        r"\b(?:dur\w{1,4}|pendant|durant) \w+ heures? et (?:demie|quart)\b": (
            r"\A(?!.*\b(?:half|quarter) past\b)"
        ),
    },
}
"""Nouns that imply a number, a time or a length of time → a pattern of it in the translation."""


def lacks_implied(source: str, translation: str, languages: Sequence[str]) -> bool:
    """Whether the number or time that a noun implies is missing."""
    here, there = (primary_language(code) for code in languages)
    if words_of(source).isdisjoint(NOUNS_OF_NUMBERS.get(here, ())):
        return False
    return any(
        re.search(noun, source, re.IGNORECASE) and not re.search(value, translation, re.IGNORECASE)
        for noun, value in _IMPLIED.get((here, there), {}).items()
    )


def lacks_fortnight(source: str, translation: str, languages: Sequence[str]) -> bool:
    """Whether a fortnight is missing."""
    if primary_language(languages[0]) != "en" or not _FORTNIGHT.search(source):
        return False
    return not (
        _FORTNIGHT.search(translation) or values_of(translation, languages[-1]) & {2, 14, 15}
    )
