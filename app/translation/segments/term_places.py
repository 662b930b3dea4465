"""Whether a translation has the terms of a glossary in their places, told from others of the text.

A search that must produce terms may do so at the wrong place: behind the end of the sentence, or
beside the words that they should replace. What the model says without the terms shows whether words
were replaced; what it says where the terms have stand-ins shows where the terms belong.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from app.text.glossary import Term, all_said

_WORD = re.compile(r"\w+|[^\w\s]")
_END = re.compile("[.!?…。！？।؟]")
MIN_LETTERS = 4
"""Of a word that shows by its presence that a term was added: shorter ones occur anywhere."""

MAX_WORDS = 400
"""Of a text that is compared with others, which takes quadratic time."""


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


def was_added(terms: Sequence[Term], free: str, translation: str) -> bool:
    """Whether a term was inserted into the free translation, rather than put for a word of it.

    Of several terms in the place of fewer words, all count as inserted.
    """
    return bool(_added(terms, free, translation))


def is_misplaced(terms: Sequence[Term], free: str, translation: str, with_stand_ins: str) -> bool:
    """Whether an inserted term is not where a translation with stand-ins has it.

    So it is if the words that the stand-in stands for in the free translation are still there, or
    if the term is last and the stand-in is not.
    """
    words, free_words = _words(translation), _words(free)
    shown_words = _words(with_stand_ins)
    counts, free_counts = Counter(words), Counter(free_words)
    for term in _added(terms, free, translation):
        replaced = [word for word in _replaced(term, free_words, shown_words) if word[0].isalnum()]
        if replaced:
            longest = max(replaced, key=len)
            if len(longest) >= MIN_LETTERS and counts[longest] >= free_counts[longest]:
                return True
        if _is_last(term, words) and not _is_last(term, shown_words):
            return True
    return False


def similarity(one: str, other: str) -> float:
    """Return the share of words that two texts have in common, in order: 0 … 1."""
    return _matcher(_words(one), _words(other)).ratio()


def _added(terms: Sequence[Term], free: str, translation: str) -> list[Term]:
    """Return the terms that the free translation lacks and of which a place was inserted."""
    missing = [term for term in terms if not all_said([term], free)]
    words, free_words = _words(translation), _words(free)
    starts = {place.start for term in missing for place in _places(term, words)}
    inserted: set[int] = set()
    for tag, start_free, end_free, start, end in _matcher(free_words, words).get_opcodes():
        n_terms = len(starts.intersection(range(start, end)))
        n_replaced = sum(word[0].isalnum() for word in free_words[start_free:end_free])
        if tag == "insert" or (tag == "replace" and n_terms > n_replaced):
            inserted.update(range(start, end))
    return [
        term for term in missing if any(place.start in inserted for place in _places(term, words))
    ]


def _replaced(term: Term, free: Sequence[str], shown: Sequence[str]) -> list[str]:
    """Return the words of the free translation in whose place another has the term."""
    starts = {place.start for place in _places(term, shown)}
    return [
        word
        for tag, start, end, start_shown, end_shown in _matcher(free, shown).get_opcodes()
        if tag == "replace" and not starts.isdisjoint(range(start_shown, end_shown))
        for word in free[start:end]
    ]


def _is_last(term: Term, words: Sequence[str]) -> bool:
    """Whether nothing but punctuation follows the term, wherever it stands."""
    places = list(_places(term, words))
    return bool(places) and not any(
        word[0].isalnum() for place in places for word in words[place.end :]
    )


def _places(term: Term, words: Sequence[str]) -> Iterator[_Place]:
    spelt = _words(term.target)
    for start in range(len(words) - len(spelt) + 1) if spelt else ():
        if words[start : start + len(spelt)] == spelt:
            yield _Place(start, start + len(spelt))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())[:MAX_WORDS]


def _matcher(one: Sequence[str], other: Sequence[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, one, other, autojunk=False)
