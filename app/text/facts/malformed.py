"""Finds numbers, days, times and eras in a form that English or French does not have: `22th`."""

import re

from app.text.cldr import SPACES
from app.text.facts.ranks import english_ending
from model.text.language_codes import primary_language

_ENGLISH_ORDINAL = re.compile(
    r"(?<![\w.,])(\d{1,3}(?:[,  ]\d{3})*|\d+)(st|nd|rd|th)\b", re.IGNORECASE
)
_NOT_FRENCH = re.compile(
    rf"(?<![\w.,])(?:\d{{1,3}}(?:[{SPACES}]\d{{3}}){{1,5}}|\d{{1,9}})(?:st|nd|rd|th|i[eè]me)\b"
    r"|\b[IVXLC]+(?:st|nd|rd|th)\b"
    r"|\b(?:(?:lun|mar|mercre|jeu|vendre|same)di|dimanche),? (?:le )?\d{1,2}e\b"
    r"|\b\d{1,2}e (?:de )?(?:(?:janv|févr|juill|octob|\w+emb)\w+|mars|avril|mai|juin|août)\b"
    r"|\bsur l[ea] \d{1,2}e\b(?! \w{3})"
    r"|\b(?:1[5-9]\d|20\d)0s\b|\bles\W{1,4}\d0s\b"  # decades
    rf"|(?-i:\d[{SPACES}]?(?:AD|A\.D\.|BCE?|B\.C\.)(?!\w)|\bAD[{SPACES}]?\d)"
    r"|\b(?:soixante-dix|quatre-vingts?(?:-dix)?) et (?:une?|onze)\b"
    r"|\bmoins quart\b|\bfortnights?\b",
    re.IGNORECASE,
)
_MONTH = " (?:January|February|March|April|May|June|July|August|(?:Sept|Octo|Nov|Dec)em?ber)"
_NOT_ENGLISH = re.compile(
    r"\b(?![LC]e\b)(?:[IVXLC]{1,8}|\d{1,4})(?:er|re|ère|i?[eè]me|e)\b"
    r"|\b[IVXLC]+ century\b|milliards?\b|\b(?:at|by|from|until|and) \d{1,2} h\b"
    rf"|teen{_MONTH}|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:twen|thir)ty){_MONTH}"
    r"|\b(?i:twen|thir|for|fif|six|seven|eigh|nine)ty and (?:one|eleven)\b(?! (?:hundred|thousand))"
)
"""Numbers, days, times and eras that are not written so in the language."""

_PAIR = re.compile(r"(?<![\d.,:/-])(?<!\d )\d{1,2} [0-5]\d(?![\d,:/%-]|\.\d| \d|\w)")
"""Hours and minutes without a mark between."""


def is_well_formed(source: str, translation: str, language: str) -> bool:
    """Whether numbers, days, times and eras are well-formed in the language, unlike `22th`."""
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
