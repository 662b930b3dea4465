"""The words of a translation, each with the words of the text that are linked to it.

A text may have a million words, so they are kept in arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from app.text.placeholders import ATOM
from app.text.spans import Span
from app.text.word_links import WordLink, WordLinks
from model.text.words import each_word

Numbers = NDArray[np.uint32]


class LinkedWords:
    """The words of `translation`, by index. A piece of markup is one word.

    Without links, each is linked to the word of the text at the same relative position. Links whose
    target is not a word are ignored.
    """

    def __init__(self, text: str, translation: str, links: Sequence[WordLink] | None) -> None:
        self._bounds = _word_bounds(translation)
        if links is None:
            read, n = _pairs(_word_bounds(text)), len(self)
            at = np.arange(n if len(read) else 0)
            sources = read[at * len(read) // max(1, n)]
            guessed, guesses = at[:0], sources[:0]
        else:
            links = links if isinstance(links, WordLinks) else WordLinks(links)
            at, sources = self._found(links.bounds(guesses=False))
            guessed, guesses = self._found(links.bounds(guesses=True))
        order = np.argsort(at, kind="stable")
        self._at = at[order].astype(np.uint32)
        self._sources = _array(sources[order])
        self._rows = _array(np.searchsorted(self._at, np.arange(len(self) + 1)))
        order = np.argsort(guesses[:, 0], kind="stable")
        self._guessed = _array(guessed[order])
        self._guesses = guesses[order]

    def __len__(self) -> int:
        return len(self._bounds) // 2

    def word(self, index: int) -> Span:
        return Span(self._bounds[2 * index], self._bounds[2 * index + 1])

    def sources(self, index: int) -> Iterator[Span]:
        """Yield the words of the text that are linked to a word, except by guesses."""
        for row in range(self._rows[index], self._rows[index + 1]):
            yield Span(self._sources[2 * row], self._sources[2 * row + 1])

    def guessed(self, span: Span) -> Iterator[int]:
        """Yield the words that are guessed to be linked to words of the text in `span`."""
        first = np.searchsorted(self._guesses[:, 1], span.start, "right")
        last = np.searchsorted(self._guesses[:, 0], span.end, "left")
        yield from self._guessed[int(first) : int(last)]

    def points(self, first: int, last: int) -> Points:
        """Return where elements without words may be placed among the words first … last - 1."""
        rows = slice(self._rows[first], self._rows[last])
        return Points(_pairs(self._sources)[rows, 1], self._at[rows])

    def _found(self, bounds: Numbers) -> tuple[NDArray[np.intp], Numbers]:
        """Return the indices of the links' targets, and their sources, where these are words."""
        words = _pairs(self._bounds)
        at = np.searchsorted(words[:, 0], bounds[:, 2])
        is_word = at < len(words)
        is_word[is_word] = (words[at[is_word]] == bounds[is_word, 2:]).all(axis=1)
        return at[is_word], bounds[is_word, :2]


class Points:
    """Positions after words of the translation, ordered by where their linked words end."""

    def __init__(self, ends: Numbers, at: Numbers) -> None:
        order = np.lexsort((at, ends))
        self._ends = ends[order]
        self._at = at[order]

    def after(self, position: int, otherwise: int) -> int:
        """Return the index after the words that are linked to the last word before `position`."""
        n_before = int(np.searchsorted(self._ends, position, "right"))
        return int(self._at[n_before - 1]) + 1 if n_before else otherwise


def _word_bounds(text: str) -> array[int]:
    masked = ATOM.sub(lambda atom: "x" * len(atom[0]), text)
    return array("I", chain.from_iterable(each_word(masked)))


def _pairs(bounds: array[int]) -> Numbers:
    return np.frombuffer(bounds, np.uint32).reshape(-1, 2)


def _array(numbers: NDArray[np.integer]) -> array[int]:
    """Copy to an array of the standard library, whose elements are read faster."""
    found = array("I")
    found.frombytes(numbers.astype(np.uint32).tobytes())
    return found
