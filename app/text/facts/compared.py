"""Compares the facts of a source and its translation, and yields what differs as flags.

`numbers` covers amounts, times and units (`app.text.facts.numbers`), `facts` the others: ordinals,
Roman numerals, dates, eras, and names with a number such as A4 or COVID-19.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Literal

from app.text.facts.cldr import (
    SPACES,
    Calendar,
    era_names,
    letters_of,
    month_names,
    unit_words,
    whole_names,
)
from app.text.facts.number_words import (
    WORD,
    knows_words_of,
    numbers_in_words,
    says_number,
    spelt_out,
    words_of,
)
from app.text.facts.numbers import has_digit, same_numbers
from app.text.facts.quantities import names_unit
from app.text.facts.ranks import (
    FIRST_OF_NAME,
    english_ending,
    is_roman,
    roman_numerals,
    same_ordinals,
)
from app.text.facts.relations import same_bounds, same_ratios
from app.text.facts.spelt import (
    ABOUT,
    MIN_IN_WORDS,
    NOUNS_OF_NUMBERS,
    PART,
    WORDS_OF_ABOUT,
    WORDS_OF_PARTS,
    lacks_number_in_words,
    lacks_rank_in_words,
)
from app.text.remembered import remembered
from model.text.language_codes import primary_language

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
_NUMBERED_MONTH = re.compile(r"(\d{1,2})[ ]?[月월]|tháng (\d{1,2})")
_NO_NUMERALS = {"CV", "DVI", "XL", "XX", "LI", "VI", "XXX", "XC", "LC"}
_ENGLISH_ORDINAL = re.compile(
    r"(?<![\w.,])(\d{1,3}(?:[,  ]\d{3})*|\d+)(st|nd|rd|th)\b", re.IGNORECASE
)
_NOT_FRENCH = re.compile(
    rf"(?<![\w.,])(?:\d{{1,3}}(?:[{SPACES}]\d{{3}}){{1,5}}|\d{{1,9}})(?:st|nd|rd|th|i[eè]me)\b"
    r"|\b[IVXLC]+(?:st|nd|rd|th)\b"
    r"|\b(?:(?:lun|mar|mercre|jeu|vendre|same)di|dimanche),? (?:le )?\d{1,2}e\b"
    r"|\b\d{1,2}e (?:de )?(?:(?:janv|févr|juill|octob|\w+emb)\w+|mars|avril|mai|juin|août)\b"
    r"|\bsur l[ea] \d{1,2}e\b(?! \w{3})"
    r"|\b(?:1[5-9]\d|20\d)0s\b|\bles\W{1,4}\d0s\b",  # decades
    re.IGNORECASE,
)
_MONTH = " (?:January|February|March|April|May|June|July|August|(?:Sept|Octo|Nov|Dec)em?ber)"
_NOT_ENGLISH = re.compile(
    r"\b(?![LC]e\b)(?:[IVXLC]{1,8}|\d{1,4})(?:er|re|ère|i?[eè]me|e)\b"
    r"|\b[IVXLC]+ century\b|milliards?\b|\b(?:at|by|from|until|and) \d{1,2} h\b"
    rf"|teen{_MONTH}|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:twen|thir)ty){_MONTH}"
)
"""Ordinals, days and times that are not written so in the language."""

_PAIR = re.compile(r"(?<![\d.,:/-])(?<!\d )\d{1,2} [0-5]\d(?![\d,:/%-]|\.\d| \d|\w)")
"""Hours and minutes without a mark between."""

_NAME = re.compile(r"(?<![\w-])(?:[A-Z]{1,6}-?|[A-Z][a-z]{1,2}-)\d{1,4}(?![\w%]|[.,]\d|-\w)")
_TRANSLATED_NAME = re.compile(
    r"[QT][1-4]|WW\d|S\d|H[12]|P\d+|N\d+|USD\d+|EUR\d+|[A-Z]{3}\d+|Mid?-\d+"
)
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


@remembered
def may_have_facts(text: str, language: str) -> bool:
    """Whether a text has anything that `fact_faults` compares."""
    if _has_signs(text, language):
        return True
    if not says_number(text, language):
        return False
    words = words_of(text)
    if not words.isdisjoint(WORDS_OF_PARTS) and PART.search(text):
        return True
    return (not words.isdisjoint(WORDS_OF_ABOUT) and ABOUT.search(text) is not None) or any(
        one.value >= MIN_IN_WORDS for one in spelt_out(text, language)
    )


@remembered
def fact_faults(source: str, translation: str, languages: tuple[str, str]) -> tuple[FactFault, ...]:
    """Return the kinds of facts in which a translation differs from its source.

    languages  codes of both texts
    """
    return tuple(_faults(source, translation, languages))


def _faults(source: str, translation: str, languages: tuple[str, str]) -> Iterator[FactFault]:
    if not (
        has_digit(translation)
        or may_have_facts(source, languages[0])
        or says_number(source, languages[0])
    ):
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
        and _has_form(source, translation, languages[-1])
        and _same_dates(source, translation, languages)
        and _has_names(source, translation)
        and same_ordinals(source, translation, languages)
        and not lacks_rank_in_words(source, translation, languages)
    ):
        yield "facts"


def _has_signs(text: str, language: str) -> bool:
    """Whether a text has digits, a numeral, the name of a day or month, or a noun of a number."""
    return has_digit(text) or _has_roman(text) or not words_of(text).isdisjoint(_dated(language))


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


def _has_form(source: str, translation: str, language: str) -> bool:
    """Whether the ordinals in digits are well-formed in the language, unlike `22th`."""
    code = primary_language(language)
    if code == "en":
        for number, ending in _ENGLISH_ORDINAL.findall(translation):
            if ending.lower() != english_ending(int(re.sub(r"\D", "", number)[-2:])):
                return f"{number}{ending}" in source
            if re.search("[  ]", number):
                return False
    if any(pair not in source for pair in _PAIR.findall(translation)):
        return False
    pattern = {"en": _NOT_ENGLISH, "fr": _NOT_FRENCH}.get(code)
    return pattern is None or not pattern.search(translation)


def _same_dates(source: str, translation: str, languages: Sequence[str]) -> bool:
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
        if words_of(texts[one]).isdisjoint(_dated(languages[-one])):
            continue
        names = whole_names(languages[-one], of)
        found = _whole_names(languages[-one], of).findall(texts[one])
        values = {names[word.lower()] for word in found}
        if not _may_name(values, of, texts[other], languages[-other]):
            return False
    return True


@cache
def _dated(language: str) -> frozenset[str]:
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


def _has_names(source: str, translation: str) -> bool:
    for name in _NAME.findall(source):
        letters, digits = name.rstrip("0123456789"), re.sub(r"\D", "", name)
        loose = rf"{re.escape(letters.rstrip('-'))}[\s‑-]?{digits}"
        if not (re.search(loose, translation, re.I) or _TRANSLATED_NAME.fullmatch(name)):
            return False
    return True
