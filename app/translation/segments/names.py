"""Names written with capitals within them, such as FBI, HCoV and MySpace, that a model misspells.

An abbreviation may have another one in another language (WHO, OMS), or be written out. It is lost
if the translation has neither, or one that is nearly the same: FBI as IBI, CERN as ERN.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from itertools import takewhile
from string import ascii_lowercase

from app.text.cldr import era_names, place_names, unit_symbols
from app.text.facts.quantities.currencies import currency_codes
from app.text.facts.ranks import is_roman
from app.text.remembered import remembered

_NAME = re.compile(
    r"(?<![\w.&@#/-])(?:[A-Z][A-Z\d]*[A-Z](?=s?(?![\w&@/-]))"
    r"|(?:[A-Za-z]*[a-z][A-Z]\w*|[A-Z]{2,}[a-z]{2,}|\d{3,4} [A-Z]{3,})(?![\w@/-]))"
)
_MAY_HAVE_NAME = re.compile("[A-Za-z][A-Z]")
_ABBREVIATION = re.compile(r"(?<![\w&@#/-])[A-Z][A-Z\d]*[A-Z](?=s?(?![\w&@/-]))")
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile("[A-Za-z]{2}")
_OTHERWISE = {"US", "USA", "UK", "SME", "PME", "OPEC", "OPEP", "EEA", "EEE"}
"""Those that are written out, or nearly the same in another language."""

MIN_WRITTEN_OUT = 3
"""Letters of an abbreviation that may not be written out: OK, TV, UK and EU often are."""


def find_names(text: str, language: str, is_word: Callable[[str], bool]) -> Sequence[str]:
    """Return the names of a text, unless it is in capitals as a whole.

    is_word  whether the vocabulary has letters in lower case as a word: they stand for emphasis
    """
    if not _MAY_HAVE_NAME.search(text) or text.isupper():
        return ()
    found = dict.fromkeys(match[0] for match in _NAME.finditer(text))
    return [
        name
        for name in found
        if name.rpartition(" ")[-1] not in _known(language)
        and not is_roman(name.rstrip(ascii_lowercase + "è"))
        and not is_word(name.lower())
    ]


def lost_names(names: Sequence[str], translation: str) -> list[str]:
    """Return the names that a translation has lost or misspelt."""
    folded = translation.casefold()
    lost = [name for name in names if name.casefold() not in folded]
    if not lost or not _LATIN.search(translation):
        return []
    written = {one for one in _ABBREVIATION.findall(translation) if one not in names}
    words = {_letters(word) for word in _WORD.findall(translation)}
    return [
        name
        for name in lost
        if _letters(name) not in words
        and (
            any(_is_nearly(name, one) for one in written)
            or (len(name) >= MIN_WRITTEN_OUT and not written)
        )
    ]


@cache
def _known(language: str) -> frozenset[str]:
    """Return the abbreviations that are read as what they stand for, or are not names."""
    eras = {name.upper() for names in era_names(language).values() for name in names}
    return frozenset({*_OTHERWISE, *currency_codes(), *unit_symbols(), *eras})


def _letters(word: str) -> str:
    return "".join(sorted(word.casefold()))


def _is_nearly(name: str, other: str) -> bool:
    """Whether one is the other without some of its letters, or with another one in its place."""
    if len(name) == len(other):
        return sum(map(str.__ne__, name, other)) == 1 < len(name) - 1
    short, long = sorted((name, other), key=len)
    rest = iter(long)
    return all(letter in rest for letter in short)


_CAPITALISED = re.compile(r"(?<![\w'’-])[^\W\d_a-zà-ÿ][^\W\d_]{3,}")
MIN_SAME_END = 3
MAX_OTHER = 2
"""Letters that a misspelt name shares at its end, and others that it may have or lack within."""


def has_misspelt_name(
    source: str, translation: str, language: str, is_word: Callable[[str], bool]
) -> bool:
    """Whether a name has other letters within: Higgs as Hyggs.

    language  of the source, whose countries and languages have other names elsewhere

    Names may end otherwise in another language: Norway, Norvège.
    """
    return any(
        not is_word(name) and not is_word(word)
        for name, word in _nearly_same(source, translation, language)
    )


@remembered
def _nearly_same(source: str, translation: str, language: str) -> Sequence[tuple[str, str]]:
    """Return the names of a source, and words of its translation that are nearly the same."""
    read = set(_CAPITALISED.findall(source))
    if not read or source.isupper():
        return ()
    written, there = set(_WORD.findall(translation)), set(_WORD.findall(source))
    # Fast: most names stay as they are.
    others = set(_CAPITALISED.findall(translation)) - there
    lost = read - written
    if not (lost and others):
        return ()
    places = place_names(language)
    names = {_folded(word) for word in lost if word.lower() not in places}
    words = set(map(_folded, others))
    pairs = [(name, word) for name in names for word in words if _is_misspelt(name, word)]
    if not pairs:
        return ()
    names -= set(map(_folded, written))
    words -= set(map(_folded, there))
    return [(name, word) for name, word in pairs if name in names and word in words]


def _is_misspelt(name: str, word: str) -> bool:
    if name[:1] != word[:1] or name[-MIN_SAME_END:] != word[-MIN_SAME_END:]:  # fast
        return False
    begin, end = _n_same(name, word), _n_same(name[::-1], word[::-1])
    others = max(len(name), len(word)) - min(begin + end, len(name), len(word))
    return begin > 0 and end >= MIN_SAME_END and others <= MAX_OTHER


def _n_same(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _folded(word: str) -> str:
    if word.isascii():  # fast; it has letters alone
        return word.lower().replace("ae", "e")
    return "".join(filter(str.isalpha, unicodedata.normalize("NFD", word.casefold()))).replace(
        "ae", "e"
    )
