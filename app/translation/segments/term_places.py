"""Whether a translation has a glossary's terms in their places, judged by others of the text.

A search that must produce terms may do so at the wrong place: behind the end of the sentence,
beside the words that they should replace, or in the place of any other word. What the model says
where the terms have stand-ins shows where they belong, and beside what it says without the terms,
which words they replace.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from app.text.glossary import Term, has_all_terms

_WORD = re.compile(r"\w+|[^\w\s]")
_END = re.compile("[.!?…。！？।؟]")
MAX_WORDS = 400
"""Maximum words of a text that is compared with others, which takes quadratic time."""


class _Place(NamedTuple):
    """Where a term stands: words start … end."""

    start: int
    end: int


def is_behind_end(terms: Sequence[Term], translation: str) -> bool:
    """Whether a term stands behind the end of the last sentence, with nothing but terms there."""
    words = _words(translation)
    said = sorted(place for term in terms for place in _places(term, words))
    in_terms = {index for place in said for index in range(place.start, place.end)}
    for place in said:
        before = next((at for at in range(place.start - 1, -1, -1) if at not in in_terms), None)
        is_after_end = before is not None and _END.match(words[before])
        behind = range(place.end, len(words))
        if is_after_end and all(at in in_terms or not words[at][0].isalnum() for at in behind):
            return True
    return False


def is_in_place(terms: Sequence[Term], free: str, translation: str, with_stand_ins: str) -> bool:
    """Whether the terms stand where a translation with stand-ins has them, and only there.

    Terms that the free translation has anyway are not looked at. The others have to be at the same
    place among the words that both translations have in common, and a word that a stand-in replaces
    in the free translation may not be said more often than with the stand-in.
    """
    words, free_words, shown = map(_words, (translation, free, with_stand_ins))
    counts, shown_counts = Counter(words), Counter(shown)
    pairs = {
        (block.a + at, block.b + at)
        for block in _matcher(words, shown).get_matching_blocks()
        for at in range(block.size)
    }
    for term in terms:
        if has_all_terms([term], free):
            continue
        starts = [place.start for place in _places(term, words)]
        expected = [place.start for place in _places(term, shown)]
        if len(starts) != len(expected) or not pairs.issuperset(zip(starts, expected, strict=True)):
            return False
        replaced = [word for word in _replaced(term, free_words, shown) if word[0].isalnum()]
        longest = max(replaced, key=len, default="")
        if counts[longest] > shown_counts[longest]:
            return False
    return not is_behind_end(terms, translation)


def was_added(terms: Sequence[Term], free: str, translation: str) -> bool:
    """Whether a term was inserted into the free translation, rather than put for a word of it."""
    missing = [term for term in terms if not has_all_terms([term], free)]
    words, free_words = _words(translation), _words(free)
    inserted = {
        index
        for tag, _, _, start, end in _matcher(free_words, words).get_opcodes()
        for index in range(start, end)
        if tag == "insert"
    }
    return any(place.start in inserted for term in missing for place in _places(term, words))


def similarity(one: str, other: str) -> float:
    """Return the share of words that two texts have in common, in order: 0 … 1."""
    return _matcher(_words(one), _words(other)).ratio()


def _replaced(term: Term, free: Sequence[str], shown: Sequence[str]) -> list[str]:
    """Return the words of the free translation in whose place another has the term."""
    starts = {place.start for place in _places(term, shown)}
    return [
        word
        for tag, start, end, start_shown, end_shown in _matcher(free, shown).get_opcodes()
        if tag == "replace" and not starts.isdisjoint(range(start_shown, end_shown))
        for word in free[start:end]
    ]


def _places(term: Term, words: Sequence[str]) -> Iterator[_Place]:
    spelt = _words(term.target)
    for start in range(len(words) - len(spelt) + 1) if spelt else ():
        if words[start : start + len(spelt)] == spelt:
            yield _Place(start, start + len(spelt))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())[:MAX_WORDS]


def _matcher(one: Sequence[str], other: Sequence[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, one, other, autojunk=False)
