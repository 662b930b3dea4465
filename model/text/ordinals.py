"""Whether a translation between English and French has its source's ordinals: 33rd, 33e."""

from __future__ import annotations

import re
from collections.abc import Mapping

from model.text.number_words import ordinals_in_words, roman_numerals

_WRITTEN = {
    "en": re.compile(r"(?<![\w.,])(\d{1,4})(?:st|nd|rd|th)s?\b", re.IGNORECASE),
    "fr": re.compile(r"(?<![\w.,])(\d{1,4})(?:er|re|ère|nde?|(?:i?[eè]m)?e|ᵉ)s?\b", re.IGNORECASE),
}
_DAY = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)\b\.?|\b(?:janv|févr?|avr|juil|déc)\b\.?"
    r"|\b(?:january|february|march|april|june|july|august|september|october|november|december"
    r"|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre"
    r"|\w+day|\w+di|dimanche)\b",
    re.IGNORECASE,
)
_ARTICLE = r"\b(?:le|les|du|des|au|aux|et|à|-|–)[ \u00a0]"


def same_ordinals(texts: Mapping[str, str]) -> bool:
    """Whether each ordinal in digits of one language's text is an ordinal in the other.

    texts  by language, `en` and `fr`

    French counts the days of a month but the first, and kings, without ordinals: 'le 21' will do
    for 'the 21st', and any number will do beside a month.
    """
    english, french = texts["en"], texts["fr"]
    ranks = {code: _ranks(text, _WRITTEN[code]) for code, text in texts.items()}
    if not (ranks["en"] or ranks["fr"]) or _DAY.search(english) or _DAY.search(french):
        return True
    return all(
        rank in _all_ranks(french, ranks["fr"]) or _is_day(rank, english, french)
        for rank in ranks["en"]
    ) and ranks["fr"] <= _all_ranks(english, ranks["en"])


def _is_day(rank: int, english: str, french: str) -> bool:
    """Whether an ordinal may be a day: no noun follows it in either language."""
    no_noun = r"(?! \w{4})"
    return bool(
        re.search(rf"\b{rank}[a-z]{{2}}\b{no_noun}", english)
        and re.search(rf"{_ARTICLE}{rank}\b{no_noun}", french)
    )


def _ranks(text: str, pattern: re.Pattern[str]) -> set[int]:
    return {int(match[1]) for match in pattern.finditer(text)}


def _all_ranks(text: str, in_digits: set[int]) -> set[int]:
    return {*in_digits, *ordinals_in_words(text), *(value for _, value in roman_numerals(text))}
