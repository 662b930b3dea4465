"""Ranks: ordinals in digits and in words, and Roman numerals."""

import re
from collections.abc import Iterator, Sequence

from app.text.facts.quantities.number_words import PARTS, WORD, spelt_out, words_of
from model.text.language_codes import primary_language

_ROMAN = re.compile(
    r"\b(?=[IVXLC])(?![LC]e\b)(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
    r"(?=(?P<ending>e|er|re|i?ème|st|nd|rd|th)?\b)"
)
FIRST_OF_NAME = re.compile(
    r"\b(?:Emperor|King|Queen|Pope|Tsar|Albert|Alexander|Charles|Edward|Elizabeth|Ferdinand|Francis"
    r"|Frederick|George|Henry|James|Leopold|Mary|Napoleon|Nicholas|Otto|Peter|Philip|William)"
    r"[ ]I(?=[ ,.])(?![ ](?:am|have|do|know|think|saw|like|love)\b)"
)
"""A ruler who is the first of a name in English, where `I` is a pronoun, too."""

RAISED = str.maketrans("ᵉʳˢᵗⁿᵈʰ", "erstndh")
"""Letters of raised endings: `XIXᵉ`."""

_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def ordinals_in_words(text: str, language: str) -> Iterator[int]:
    """Yield the ranks of ordinals and fractions in words: `premier`, `twenty-first`, `thirds`."""
    for spelt in spelt_out(text, language):
        if spelt.is_ordinal:
            yield spelt.value
    if words_of(text).isdisjoint(PARTS):
        return
    for word in WORD.finditer(text):
        value = PARTS.get(word[0].casefold())
        if value is not None:
            yield value


def roman_numerals(text: str) -> Iterator[tuple[str, int]]:
    """Yield the Roman numerals below 100 with their values, but `I`, a pronoun, only in `Ier`."""
    for roman in _ROMAN.finditer(text):
        if roman[0] and (roman[0] != "I" or roman["ending"]):
            yield roman[0], _roman_value(roman[0])


def is_roman(letters: str) -> bool:
    """Whether the letters are a Roman numeral below 100."""
    found = _ROMAN.match(letters)
    return found is not None and found.end() == len(letters)


def _roman_value(letters: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in letters]
    following = [*values[1:], 0]
    return sum(-one if one < after else one for one, after in zip(values, following, strict=True))


_WRITTEN = {
    "en": re.compile(
        r"(?<![\w.,])(\d{1,3}(?:[, \u00a0\u202f]\d{3})+|\d{1,4})(?:st|nd|rd|th)s?\b", re.IGNORECASE
    ),
    "fr": re.compile(
        r"(?<![\w.,])(\d{1,3}(?:[ \u00a0\u202f]\d{3})+|\d{1,4})"
        r"(?:er|re|ère|nde?|(?:i?[eè]m)?e)s?\b",
        re.IGNORECASE,
    ),
}
_DAY = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)\b\.?|\b(?:janv|févr?|avr|juil|déc)\b\.?"
    r"|\b(?:january|february|march|april|june|july|august|september|october|november|december"
    r"|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre"
    r"|\w+day|\w+di|dimanche)\b",
    re.IGNORECASE,
)
_ARTICLE = r"\b(?:le|les|du|des|au|aux|et|à|-|–)[ \u00a0]"


def same_ordinals(source: str, translation: str, languages: Sequence[str]) -> bool:
    """Whether each ordinal in digits of an English or French text is an ordinal in the other.

    French counts the days of a month but the first, and kings, without ordinals: 'le 21' will do
    for 'the 21st', and any number will do beside a month. A text that is only copied has its own.
    """
    texts = dict(zip(map(primary_language, languages), (source, translation), strict=True))
    if texts.keys() != {"en", "fr"}:
        return True
    english, french = texts["en"], texts["fr"]
    if english == french:
        return True
    ranks = {code: _ranks(text, _WRITTEN[code]) for code, text in texts.items()}
    if not (ranks["en"] or ranks["fr"]) or _DAY.search(english) or _DAY.search(french):
        return True
    return all(
        rank in _all_ranks(french, "fr", ranks["fr"]) or _is_day(rank, english, french)
        for rank in ranks["en"]
    ) and ranks["fr"] <= _all_ranks(english, "en", ranks["en"])


def names_day(text: str, start: int, end: int) -> bool:
    """Whether a month or a day of the week is named beside a number."""
    return _DAY.search(text, max(start - 16, 0), end + 12) is not None


def _is_day(rank: int, english: str, french: str) -> bool:
    """Whether an ordinal may be a day: no noun follows it in either language."""
    no_noun = r"(?! \w{4})"
    return bool(
        re.search(rf"\b{rank}[a-z]{{2}}\b{no_noun}", english)
        and re.search(rf"{_ARTICLE}{rank}\b{no_noun}", french)
    )


def _ranks(text: str, pattern: re.Pattern[str]) -> set[int]:
    return {int(re.sub(r"\D", "", match[1])) for match in pattern.finditer(text)}


def _all_ranks(text: str, language: str, in_digits: set[int]) -> set[int]:
    return {
        *in_digits,
        *ordinals_in_words(text, language),
        *(value for _, value in roman_numerals(text)),
    }


_WITH_DOT = "bs cs da de et fi hr hu is lv nb nn no pl sk sl sr tr"
_WITH_CIRCLE = {"es": ".º", "gl": ".º", "it": "º", "pt": "º"}


def ordinal_in(rank: int, digits: str, language: str) -> str | None:
    """Return an ordinal in digits as a language writes it, if that is known.

    digits  the rank as the language writes the number
    """
    code = primary_language(language)
    if code == "fr":
        return f"{digits}{'er' if rank == 1 else 'e'}"
    if code == "en":
        return digits + english_ending(rank)
    if code == "nl":
        return f"{digits}e"
    if code in _WITH_DOT:
        return f"{digits}."
    return digits + _WITH_CIRCLE[code] if code in _WITH_CIRCLE else None


def english_ending(rank: int) -> str:
    """Return the ending of an English ordinal in digits."""
    last = 0 if 10 < rank % 100 < 20 else rank % 10
    return ("th", "st", "nd", "rd")[last] if last < 4 else "th"
