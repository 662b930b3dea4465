"""The words of a text, by their places: what an alignment links."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""Code points start … end of a text."""

_APOSTROPHES = "'’"


def whitespace_words(text: str) -> list[Span]:
    """What stands between whitespace: the words of text that was tokenised before."""
    return [match.span() for match in re.finditer(r"\S+", text)]


def words(text: str) -> list[Span]:
    """Runs of letters and digits; every other character but whitespace is a word by itself.

    An apostrophe between letters ends a word and belongs to it: `l'` `homme`. Characters of
    double width, such as Chinese ones, are words by themselves, for want of spaces between words.
    Combining marks and joiners belong to what they follow.
    """
    spans: list[Span] = []
    grows = False  # whether the next letter belongs to the last word
    for place, character in enumerate(text):
        if character.isspace():
            grows = False
            continue
        adjacent = bool(spans) and spans[-1][1] == place
        if adjacent and unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf"):
            spans[-1] = (spans[-1][0], place + 1)
            continue
        narrow = character.isalnum() and unicodedata.east_asian_width(character) != "W"
        clitic = character in _APOSTROPHES and text[place + 1 : place + 2].isalpha()
        if grows and (narrow or clitic):
            spans[-1] = (spans[-1][0], place + 1)
        else:
            spans.append((place, place + 1))
        grows = narrow
    return spans


@lru_cache(maxsize=4096)
def joins(character: str) -> bool:
    """Whether a character makes one word with a letter or digit beside it; not if there is none."""
    return bool(character) and (
        (character.isalnum() and unicodedata.east_asian_width(character) != "W")
        or unicodedata.category(character) in ("Mn", "Mc", "Me")
    )
