"""Numbers in words, in English and French, and in Roman numerals; ordinals of both languages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from app.text.facts.number_conventions import SPACES


def _table(*rows: tuple[str, Sequence[int]]) -> dict[str, int]:
    return {
        word: value
        for words, values in rows
        for word, value in zip(words.split(), values, strict=True)
    }


_TENS = (20, 30, 40, 50, 60, 70, 80, 90)
_CARDINALS = _table(
    ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
     "fifteen sixteen seventeen eighteen nineteen twenty", range(21)),
    ("zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze "
     "quinze seize", range(17)),
    ("twenty thirty forty fifty sixty seventy eighty ninety", _TENS),
    ("vingt trente quarante cinquante soixante septante huitante nonante", _TENS),
    ("vingts hundred cent cents thousand mille milles une",
     (20, 100, 100, 100, 1000, 1000, 1000, 1)),
    ("million millions milliard milliards", (10**6, 10**6, 10**9, 10**9)),
)  # fmt: skip
_ORDINALS = _table(
    ("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
     "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth", range(1, 20)),
    ("premier deuxième troisième quatrième cinquième sixième septième huitième neuvième "
     "dixième onzième douzième treizième quatorzième quinzième seizième", range(1, 17)),
    ("twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth", _TENS),
    ("vingtième trentième quarantième cinquantième soixantième septantième huitantième "
     "nonantième", _TENS),
    ("première unième hundredth centième thousandth millième", (1, 1, 100, 100, 1000, 1000)),
)  # fmt: skip
_RANKS_OF_OTHERS = _table(
    (
        "seconde secondes tiers half halves quarter quarters quart quarts",
        (2, 2, 3, 2, 2, 4, 4, 4, 4),
    )
)
_FRACTIONS = {f"{word}s": value for word, value in _ORDINALS.items() if value > 2}
_RANKS = _ORDINALS | _FRACTIONS | _RANKS_OF_OTHERS
_WORDS = (
    _CARDINALS
    | _ORDINALS
    | _FRACTIONS
    | _table(
        ("dozen douzaine millier milliers once twice", (12, 12, 1000, 1000, 1, 2)),
        ("seconde tiers quart quarts quarter quarters half moitié demi demie midi noon minuit "
         "midnight", (2, 3, 4, 4, 4, 4, 2, 2, 2, 2, 12, 12, 0, 0)),
        ("january february march april may june july august september october november december",
         range(1, 13)),
        ("janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
         range(1, 13)),
    )
)  # fmt: skip
_CARDINAL, _LAST = (
    "|".join(sorted(words, key=len, reverse=True))
    for words in (_CARDINALS, _CARDINALS | _ORDINALS | _FRACTIONS)
)
_LINK = rf"[{SPACES}-](?:(?:et|and)[{SPACES}-])?"
_COMPOUND = re.compile(
    rf"\b(?:{_CARDINAL})(?:{_LINK}(?:{_CARDINAL})\b)*{_LINK}(?:{_LAST})\b", re.IGNORECASE
)
_SPELT_OUT = re.compile(rf"\b(?:{_CARDINAL})(?:{_LINK}(?:{_LAST})\b)*\b", re.IGNORECASE)
_TWO_LETTERS = re.compile("[IVXLC]{2}")
"""Of Roman numerals."""
_ROMAN = re.compile(
    r"\b(?=[IVXLC])(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?=(?:e|er|i?ème|st|nd|rd|th)?\b)"
)
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_WORD = re.compile(r"[^\W\d_]+")
_FIRST_WORDS = {words[0] for words in map(_WORD.findall, _CARDINALS)}


def numbers_in_words(text: str) -> Iterator[int]:
    """Yield what the words of a text may say: each by itself, and those of several words.

    The words of a compound are also yielded by themselves: `forty-two` is 40, 2 and 42.
    """
    for word in _WORD.finditer(text):
        value = _WORDS.get(word[0].casefold())
        if value is not None:
            yield value
    for run in _COMPOUND.finditer(text):
        yield _sum(run[0])


def ordinals_in_words(text: str) -> Iterator[int]:
    """Yield the ranks of ordinals and fractions in words: `premier`, `twenty-first`, `thirds`."""
    for word in _WORD.finditer(text):
        value = _RANKS.get(word[0].casefold())
        if value is not None:
            yield value
    for run in _COMPOUND.finditer(text):
        if _WORD.findall(run[0].casefold())[-1] in _RANKS:
            yield _sum(run[0])


def spelt_out(text: str) -> Iterator[int]:
    """Yield the cardinal numbers in words, each as a whole: `forty-two` is 42."""
    if _FIRST_WORDS.isdisjoint(_WORD.findall(text.lower())):
        return
    for run in _SPELT_OUT.finditer(text):
        yield _sum(run[0])


def roman_numerals(text: str) -> Iterator[tuple[str, int]]:
    """Yield the Roman numerals below 100 but `I`, which is a pronoun, with their values."""
    for roman in _ROMAN.finditer(text):
        if roman[0] not in ("", "I"):
            yield roman[0], _roman(roman[0])


def long_roman_numerals(text: str) -> set[str]:
    """Return the Roman numerals of two letters or more."""
    if not _TWO_LETTERS.search(text):  # as in most; searching for them is much faster
        return set()
    return {numeral for numeral, _ in roman_numerals(text) if len(numeral) > 1}


def _sum(compound: str) -> int:
    total = current = 0
    for word in _WORD.findall(compound.lower()):
        value = _WORDS.get(word, 0)
        if value >= 1000:
            total += max(current, 1) * value
            current = 0
        elif value == 100:
            current += max(current % 100, 1) * 100 - current % 100
        elif value == 20 and current % 100 == 4:  # quatre-vingts
            current += 76
        else:
            current += value
    return total + current


def _roman(letters: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in letters]
    following = [*values[1:], 0]
    return sum(-one if one < after else one for one, after in zip(values, following, strict=True))


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
    for 'the 21st', and any number will do beside a month. A text that is only copied has its own.
    """
    english, french = texts["en"], texts["fr"]
    if english == french:
        return True
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
