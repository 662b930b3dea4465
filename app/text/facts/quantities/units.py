"""Finds what the numbers of a text count: their scale, currency or unit, by the words of CLDR."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from app.text.cldr import SPACES, scale_words, unit_symbols, unit_words, year_word
from app.text.facts.quantities.currencies import currency_codes, currency_words
from app.text.facts.quantities.number_words import knows_words_of
from app.text.facts.quantities.slang_money import is_other_thing
from app.text.scripts import FEW_SPACES
from model.text.language_codes import primary_language

_ABBREVIATED_SCALES: dict[str, dict[str, int]] = {
    "en": {"k": 3, "m": 6, "mn": 6, "b": 9, "bn": 9, "tn": 12},
    "fr": {"k": 3, "m": 6, "md": 9, "mds": 9, "mrd": 9, "bn": 0},
    "": {"k": 3, "m": 6, "mio": 6, "mln": 6, "mn": 6, "mrd": 9, "mld": 9, "bn": 9, "mds": 9},
}
"""Scales by language (`""`: all others), in addition to those of CLDR; 0 marks another word."""

_THOUSANDS = {
    "ja": {"千": 3, "百万": 6, "千万": 7},
    "ko": {"백만": 6, "천만": 7},
    "zh": {"百": 2, "千": 3, "百万": 6, "百萬": 6, "千万": 7, "千萬": 7, "十亿": 9, "十億": 9},
}
"""Scales below the next power of 10,000, which CLDR's short forms leave to the number."""

_MANY = ("en", "fr", "de", "es", "it", "pt", "nl", "ru")
"""Languages whose words for large numbers may stand in one that CLDR does not have."""

_PER_CENT = (
    r"%|٪|％|per ?cent\w*|pour[ -]?cents?|pourcent\w*|prozent\w*|porcent\w*|por ?cento?|por ciento"
    r"|procent\w*|percentual\w*|パーセント|퍼센트"
)
_SIGNS = "[$€£¥₹]"
PERCENT = "%"
_MAY_COUNT = re.compile(rf"[{SPACES}-]?[^\W\d_]|[{SPACES}]?(?:[%٪％°℃℉$€£¥₹])")
_SIGN_BEHIND = re.compile(rf"[{SPACES}]?{_SIGNS}|-(?:euro|dollar|pound)s?\b")
_YEAR = re.compile(r"(?<!\d)[12]\d{3}$")
_CODE = re.compile(r"(?<!\w)[A-Z]{3}$")
_STERLING = re.compile(rf"[{SPACES}]sterling\b", re.IGNORECASE)
UNCHECKED = ("duration-day", "duration-week", "duration-month", "duration-year", "duration-hour")
"""Units that a translation may name by other words (`daily`, `overnight`) or imply."""
_AMBIGUOUS_WORDS = {
    "livre", "livres", "mille", "milles", "mil", "second", "seconds", "chevaux", "cheval",
    "mega", "giga", "won", "mark", "marks", "sum", "sums", "sol", "real", "reals", "rand",
    "couronne", "couronnes", "florin", "florins",
}  # fmt: skip
_DEGREES = ["degrees", "degree", "degrés", "degré", "grad", "grados", "gradi", "graus", "度", "도"]
_INFLECTED = 6
"""Letters from which on a word for a unit is recognised by all but its last two."""


class Scale(NamedTuple):
    """A power of ten behind a number.

    exponents  of ten; several if the word has several meanings
    end        of its span
    """

    exponents: tuple[int, ...]
    end: int


class Unit(NamedTuple):
    """The units or currencies that the word beside a number may mean, and its span."""

    names: frozenset[str]
    start: int
    end: int


def scale_at(text: str, at: int, language: str, *, is_money: bool) -> Scale | None:
    """Return the scale that a text has from `at` on, right behind a number."""
    if not _MAY_COUNT.match(text, at):
        return None
    words, pattern = _scales(language)
    match = pattern.match(text, at)
    if match is None:
        return None
    word = match["word"].lower()
    is_money = is_money or _SIGN_BEHIND.match(text, match.end()) is not None
    is_letter = len(word) == 1 and word.isascii()
    if is_letter and not is_money and word != "k":
        return None
    if word == "mn" and not is_money:
        return None
    if words[word][0] > 3 and word in unit_words(language):  # `mil` is a mile in Czech
        return None
    if not word.isascii() and FEW_SPACES.search(word):
        unit = unit_at(text, at, language)
        if unit is not None and unit.end > match.end():  # a kilogram is `千克` in Chinese
            return None
    return Scale(words[word], match.end())


def unit_at(text: str, at: int, language: str) -> Unit | None:
    """Return the unit or currency that a text has from `at` on, right behind a number."""
    if not _MAY_COUNT.match(text, at):
        return None
    words, pattern = _units(language)
    match = pattern.match(text, at)
    if match is None:
        return None
    word = match["word"]
    if word == year_word(language) and _YEAR.search(text, max(at - 5, 0), at):
        return None
    if sterling := _STERLING.match(text, match.end()):
        return Unit(frozenset("£"), match.start("word"), sterling.end())
    if sign := currency_codes().get(word):
        names = {sign}
    elif symbol := unit_symbols().get(word):
        names = {symbol} | words.get(word.lower(), set())
    elif is_other_thing(word.lower(), text, at):
        return None
    else:
        names = words.get(word.lower(), set()) or {PERCENT}
    return Unit(frozenset(names), match.start("word"), match.end())


def currency_before(text: str, at: int) -> str | None:
    """Return the currency in front of a number, by its sign or its code."""
    before = text[max(at - 5, 0) : at].rstrip(SPACES)
    if before and before[-1] in "$€£¥₹":
        return before[-1]
    code = _CODE.search(before)
    return code and currency_codes().get(code[0])


def names_unit(text: str, names: Iterable[str], language: str) -> bool | None:
    """Whether a text names one of the units by a word or sign; None if its words are not known."""
    known: bool | None = None
    for name in names:
        pattern = _naming(name, language)
        if pattern is not None:
            known = True
            if pattern.search(text):
                return True
    return False if known else None


def is_checked(word: str, names: Iterable[str]) -> bool:
    """Whether a translation must name a unit that is written so."""
    return word.lower() not in _AMBIGUOUS_WORDS and not set(UNCHECKED).issuperset(names)


def is_symbol(written: str) -> bool:
    """Whether a unit or currency is written by its symbol, which stands beside a number."""
    return written != "s" and (
        written in unit_symbols() or written in currency_codes() or written in _SIGNS
    )


@cache
def _scales(language: str) -> tuple[Mapping[str, tuple[int, ...]], re.Pattern[str]]:
    tables = [scale_words(language)]
    if not tables[0]:
        tables = list(map(scale_words, _MANY))
    code = primary_language(language)
    own = {
        **_ABBREVIATED_SCALES.get(code, _ABBREVIATED_SCALES[""]),
        **_THOUSANDS.get(code, {}),
    }
    found: dict[str, set[int]] = {word: {size} for word, size in own.items() if size}
    for word, size in (item for table in tables for item in table.items()):
        if own.get(word, size) == size:
            found.setdefault(word, set()).add(size)
        if len(word) > 3 and word[-1] in "dn":
            found.setdefault(f"{word}s", set()).add(size)
    words = {word: tuple(sorted(sizes)) for word, sizes in found.items()}
    unspaced = [word for word in words if FEW_SPACES.search(word)]
    return words, re.compile(
        rf"(?:[{SPACES}]|-(?=\w{{4}}))?(?P<word>(?:{_alternatives(words)})(?!\w)"
        rf"|(?:{_alternatives(unspaced) or '(?!)'}))",
        re.IGNORECASE,
    )


@cache
def _units(language: str) -> tuple[Mapping[str, set[str]], re.Pattern[str]]:
    words: dict[str, set[str]] = {}
    for word, unit in unit_words(language).items():
        words.setdefault(word, set()).add(unit)
    for sign, names in currency_words(language).items():
        for name in names:
            words.setdefault(name, set()).add(sign)
    symbols = sorted([*unit_symbols(), *currency_codes()], key=len, reverse=True)
    signs = "|".join(map(re.escape, symbols))
    link = rf"[{SPACES}-]?(?:(?:de|of|di)[{SPACES}]|d['’]|(?-i:[A-Z]{{1,2}}(?=\$)))?"
    rates = _alternatives(word for word in words if "/" in word) or "(?!)"
    end = "" if any(map(FEW_SPACES.search, words)) else r"(?![^\W\d_])"
    return words, re.compile(
        rf"{link}(?P<word>(?:{rates})(?!\w)|(?-i:{signs})(?![\w'’])|(?:{_alternatives(words)}){end}|{_PER_CENT})",
        re.IGNORECASE,
    )


@cache
def _naming(name: str, language: str) -> re.Pattern[str] | None:
    if name == PERCENT:
        if not knows_words_of(language):
            return None
        points = r"points?|punt[oi]s?|punkte?n?|punten|pontos?"
        return re.compile(rf"{_PER_CENT}|\b(?:{points})\b", re.IGNORECASE)
    words = [word for word, unit in unit_words(language).items() if unit == name]
    words += [word for word in currency_words(language).get(name, ()) if word != name.lower()]
    symbols = [symbol for symbol, unit in unit_symbols().items() if unit == name]
    if not words or not unit_words(language):
        return None
    if name.startswith("temperature"):
        symbols += ["°", "℃", "℉"]
        words += _DEGREES
    spelt = [
        rf"{re.escape(word[:-2])}\w+"
        if len(word) >= _INFLECTED and " " not in word
        else re.escape(word)
        for word in words
    ]
    letters = "|".join(map(re.escape, symbols))
    parts = (
        [f"(?:{'|'.join(spelt)})", f"(?-i:{letters})"] if letters else [f"(?:{'|'.join(spelt)})"]
    )
    if not any(map(FEW_SPACES.search, words)):
        parts = [rf"(?<![^\W\d_]){part}(?!\w)" for part in parts]
    codes = (code for code, sign in currency_codes().items() if name == sign)
    sign = [f"(?-i:{re.escape(one)})" for one in {name, *codes}] if len(name) <= 3 else []
    return re.compile("|".join([*parts, *sign]), re.IGNORECASE)


def _alternatives(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
