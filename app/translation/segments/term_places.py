"""Checks by other translations whether one has the terms of a glossary at the right positions.

A constrained search may produce terms at wrong positions: after the end of the sentence, next to
the words that they should replace, or in place of other words. The translation with stand-ins shows
the right positions, and the free translation the words that the terms replace.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from app.text.glossary import Term, has_all_terms
from app.text.scripts import FEW_SPACES

_WORD = re.compile(r"\w+|[^\w\s]")
_END = re.compile("[.!?…。！？।؟]")
MAX_WORDS = 400
"""Words of a text that are compared, in quadratic time."""

MIN_LETTERS = 3
"""Letters of a word from which on it is not taken for an article."""


class _Position(NamedTuple):
    """A term: words start … end."""

    start: int
    end: int


def is_behind_end(terms: Sequence[Term], translation: str) -> bool:
    """Whether a term follows the end of the last sentence, with nothing but terms there."""
    words = _words(translation)
    positions = sorted(position for term in terms for position in _positions(term, words))
    in_terms = {index for position in positions for index in range(position.start, position.end)}
    for position in positions:
        before = next((at for at in range(position.start - 1, -1, -1) if at not in in_terms), None)
        is_after_end = before is not None and _END.match(words[before])
        behind = range(position.end, len(words))
        if is_after_end and all(at in in_terms or not words[at][0].isalnum() for at in behind):
            return True
    return False


def is_in_place(terms: Sequence[Term], free: str, translation: str, with_stand_ins: str) -> bool:
    """Whether the terms are where a translation with stand-ins has them, and only there.

    Terms of the free translation are ignored. The others must be at the same position among the
    words that both translations share, and a word that a stand-in replaces in the free translation
    must not occur more often than with the stand-in.
    """
    words, free_words, reference = map(_words, (translation, free, with_stand_ins))
    counts, reference_counts = Counter(words), Counter(reference)
    pairs = {
        (block.a + at, block.b + at)
        for block in _matcher(words, reference).get_matching_blocks()
        for at in range(block.size)
    }
    for term in terms:
        if has_all_terms([term], free):
            continue
        starts = [position.start for position in _positions(term, words)]
        expected = [position.start for position in _positions(term, reference)]
        if len(starts) != len(expected) or not pairs.issuperset(zip(starts, expected, strict=True)):
            return False
        replaced = [word for word in _replaced(term, free_words, reference) if word[0].isalnum()]
        longest = max(replaced, key=len, default="")
        if counts[longest] > reference_counts[longest]:
            return False
    return not is_behind_end(terms, translation)


def was_added(terms: Sequence[Term], free: str, translation: str) -> bool:
    """Whether a term was inserted into the free translation, instead of replacing a word.

    A term that replaces only an article was inserted, too.
    """
    missing = [term for term in terms if not has_all_terms([term], free)]
    words, free_words = _words(translation), _words(free)
    opcodes = _matcher(free_words, words).get_opcodes() if missing else []
    for term in missing:
        for position in _positions(term, words):
            replaced = [
                word
                for _, start, end, start_other, end_other in opcodes
                if start_other < position.end and position.start < end_other
                for word in free_words[start:end]
            ]
            if not any(len(word) >= MIN_LETTERS or FEW_SPACES.search(word) for word in replaced):
                return True
    return False


def has_source_word(terms: Sequence[Term], source: str, translation: str) -> bool:
    """Whether a word of a source term is in the translation beside the target.

    source  with its terms
    """
    targets = {word for term in terms for word in _words(term.target)}
    in_terms = Counter(word for term in terms for word in _words(term.source))
    elsewhere, found = Counter(_words(source)) - in_terms, Counter(_words(translation))
    return any(
        found[word] > elsewhere[word]
        for word in in_terms
        if word not in targets and len(word) >= MIN_LETTERS
    )


def similarity(one: str, other: str) -> float:
    """Return the share of words that two texts share in order, 0 … 1."""
    return _matcher(_words(one), _words(other)).ratio()


def _replaced(term: Term, free: Sequence[str], reference: Sequence[str]) -> list[str]:
    """Return the words of the free translation that the term replaces in another."""
    starts = {position.start for position in _positions(term, reference)}
    return [
        word
        for tag, start, end, start_other, end_other in _matcher(free, reference).get_opcodes()
        if tag == "replace" and not starts.isdisjoint(range(start_other, end_other))
        for word in free[start:end]
    ]


def _positions(term: Term, words: Sequence[str]) -> Iterator[_Position]:
    spelt = _words(term.target)
    for start in range(len(words) - len(spelt) + 1) if spelt else ():
        if words[start : start + len(spelt)] == spelt:
            yield _Position(start, start + len(spelt))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())[:MAX_WORDS]


def _matcher(one: Sequence[str], other: Sequence[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, one, other, autojunk=False)
