"""Compares the facts of a source and its translation, and yields what differs as flags.

`numbers` covers amounts, times and units (`app.text.facts.numbers`), `facts` the others: ordinals,
Roman numerals, dates, eras, and names with a number such as A4 or COVID-19.
"""

import re
from collections.abc import Iterator
from typing import Literal

from app.text.cldr import SPACES
from app.text.facts.compared_numbers import same_numbers
from app.text.facts.dates import same_dates, words_of_dates
from app.text.facts.malformed import is_well_formed
from app.text.facts.numbers import has_digit
from app.text.facts.quantities.number_words import (
    knows_words_of,
    numbers_in_words,
    says_number,
    spelt_out,
    words_of,
)
from app.text.facts.ranks import FIRST_OF_NAME, RAISED, is_roman, roman_numerals, same_ordinals
from app.text.facts.relations import same_bounds, same_ratios
from app.text.facts.spelt import (
    MIN_IN_WORDS,
    PART,
    WORDS_OF_PARTS,
    lacks_number_in_words,
    lacks_part,
    lacks_rank_in_words,
)
from app.text.remembered import remembered

FactFault = Literal["numbers", "facts"]
_ROMAN = re.compile(
    rf"(?:(?<![^\W_])(?:[^\W\d_a-zà-ÿ]\w*+|chap[a-zí]+|tome|vol[a-z]+|artic[a-z]+|acte?|part(?:ie|e)?"
    rf"|section|annexe?|guerre|kapitel|cap[íi]t[a-z]+)[{SPACES}])([IVXLC]{{2,8}})(?!\w)(?!['’&])"
    r"|\b([IVXLC]{2,8}|[IVX])(?=(?:e|er|re|ère|i?[eè]me|st|nd|rd|th)\b)"
)
"""Numerals behind a name or a word for what is counted, or with the ending of an ordinal."""

_MAY_BE_ROMAN = re.compile("[IVXLC](?=[IVXLCeèinrst]|(?<= I)[ ,.])")
"""Matches within every match of `_ROMAN`."""

_FIRST = re.compile(
    r"\b(?:I|I?[eè]?re?|1er|1st|premier|première|first|erste[rn]?|primer[ao]?|primo)\b"
)
_NO_NUMERALS = {"CV", "DVI", "XL", "XX", "LI", "VI", "XXX", "XC", "LC"}

_NAME = re.compile(r"(?<![\w-])(?:[A-Z]{1,6}-?|[A-Z][a-z]{1,2}-)\d{1,4}(?![\w%]|[.,]\d|-\w)")
_TRANSLATED_NAME = re.compile(
    r"[QT][1-4]|WW\d|S\d|H[12]|P\d+|N\d+|USD\d+|EUR\d+|[A-Z]{3}\d+|Mid?-\d+"
)


@remembered
def may_have_facts(text: str, language: str) -> bool:
    """Whether a text has anything that `fact_faults` compares."""
    text = text.translate(RAISED)
    if _has_signs(text, language):
        return True
    if not says_number(text, language):
        return False
    words = words_of(text)
    if not words.isdisjoint(WORDS_OF_PARTS) and PART.search(text):
        return True
    return any(one.value >= MIN_IN_WORDS for one in spelt_out(text, language))


@remembered
def fact_faults(source: str, translation: str, languages: tuple[str, str]) -> tuple[FactFault, ...]:
    """Return the kinds of facts in which a translation differs from its source.

    languages  codes of both texts
    """
    return tuple(_faults(source.translate(RAISED), translation.translate(RAISED), languages))


def _faults(source: str, translation: str, languages: tuple[str, str]) -> Iterator[FactFault]:
    if not (
        has_digit(translation)
        or may_have_facts(source, languages[0])
        or says_number(source, languages[0])
    ):
        if lacks_part(translation, source, languages[::-1]):
            yield "numbers"
        return
    if (
        lacks_number_in_words(source, translation, languages)
        or not same_numbers(source, translation, languages)
        or not same_ratios(source, translation, languages)
        or not same_bounds(source, translation, languages)
    ):
        yield "numbers"
    if not (
        _has_numerals(source, translation, languages[-1])
        and is_well_formed(source, translation, languages[-1])
        and same_dates(source, translation, languages)
        and _has_names(source, translation)
        and same_ordinals(source, translation, languages)
        and not lacks_rank_in_words(source, translation, languages)
    ):
        yield "facts"


def _has_signs(text: str, language: str) -> bool:
    """Whether a text has digits, a numeral, the name of a day or month, or a noun of a number."""
    return (
        has_digit(text)
        or _has_roman(text)
        or not words_of(text).isdisjoint(words_of_dates(language))
    )


def _has_roman(text: str) -> bool:
    return _MAY_BE_ROMAN.search(text) is not None and bool(
        _ROMAN.search(text) or FIRST_OF_NAME.search(text)
    )


def _has_numerals(source: str, translation: str, language: str) -> bool:
    """Whether each Roman numeral is there: as it is, in digits or in words."""
    if FIRST_OF_NAME.search(source) and not _FIRST.search(translation):
        return False
    numerals = [one or other for one, other in _ROMAN.findall(source)]
    numerals = [one for one in numerals if one not in _NO_NUMERALS]
    values = {value for one in numerals for _, value in roman_numerals(one)}
    if not values:
        return True
    for name in re.findall(rf"(?<=[^\W\d_][{SPACES}])(?:{'|'.join(numerals)})(?!\w)", source):
        if re.match(rf"\W*{name}(?!\w)", translation):  # its king is missing
            return False
    there = {value for _, value in roman_numerals(translation)}
    if len(re.findall(r"\b[IVXLC]{2,}(?=e|è|i|t|\b)", translation)) > len(there):
        written = re.findall(r"\b([IVXLC]{2,})(?:[eè]\w*|i[eè]me|th|st|nd|rd)?\b", translation)
        if any(not is_roman(one) and one not in source for one in written):
            return False
    there |= {int(one) for one in re.findall(r"\d{1,4}", translation)}
    return not knows_words_of(language) or values <= there | set(
        numbers_in_words(translation, language)
    )


def _has_names(source: str, translation: str) -> bool:
    for name in _NAME.findall(source):
        letters, digits = name.rstrip("0123456789"), re.sub(r"\D", "", name)
        loose = rf"{re.escape(letters.rstrip('-'))}[\s‑-]?{digits}"
        if not (re.search(loose, translation, re.I) or _TRANSLATED_NAME.fullmatch(name)):
            return False
    return True
