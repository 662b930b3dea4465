"""The words of a text as spans, between which alignments have links."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""Code points start … end of a text."""

_APOSTROPHES = "'’"


def whitespace_words(text: str) -> list[Span]:
    """Split at whitespace only, for text that is already tokenised."""
    return [match.span() for match in re.finditer(r"\S+", text)]


def words(text: str) -> list[Span]:
    """Return those of `each_word`."""
    return list(each_word(text))


def each_word(text: str) -> Iterator[Span]:
    """Split into runs of letters and digits; any other non-whitespace character is a word.

    An apostrophe between letters ends a word and belongs to it: `l'` `homme`. Each double-width
    character, such as a Chinese one, is a word, since no spaces separate words. Combining marks
    and joiners belong to the preceding character.
    """
    start = end = 0  # of the last word, which is passed on once it has ended
    grows = False  # whether the next letter belongs to it
    for place, character in enumerate(text):
        if character.isspace():
            grows = False
            continue
        adjacent = start < end == place
        if adjacent and unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf"):
            end = place + 1
            continue
        narrow = character.isalnum() and unicodedata.east_asian_width(character) != "W"
        clitic = character in _APOSTROPHES and text[place + 1 : place + 2].isalpha()
        if grows and (narrow or clitic):
            end = place + 1
        else:
            if start < end:
                yield start, end
            start, end = place, place + 1
        grows = narrow
    if start < end:
        yield start, end


@lru_cache(maxsize=4096)
def joins(character: str) -> bool:
    """Whether a character forms a word with an adjacent letter or digit; false if it is empty."""
    return bool(character) and (
        (character.isalnum() and unicodedata.east_asian_width(character) != "W")
        or unicodedata.category(character) in ("Mn", "Mc", "Me")
    )
