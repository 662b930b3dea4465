"""Finds glossary terms in a text: terms with a given translation, or left untranslated."""

from __future__ import annotations

import unicodedata
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import NamedTuple

from app.text.spans import Span
from model.text.words import joins


@dataclass(frozen=True, slots=True)
class Term:
    """An occurrence of a term, and the target that the translation must contain.

    source          the text of the occurrence
    may_be_capital  its first letter may become a capital at the start of a translation
    n_words         words of the term, including punctuation marks
    """

    span: Span
    source: str
    target: str
    may_be_capital: bool
    n_words: int

    def count_in(self, translation: str) -> int:
        """Count the target in a translation, as separate words."""
        capital = self.target[:1].upper() + self.target[1:]
        at_start = self.may_be_capital and capital != self.target
        n_capital = sum(at == 0 for at in _positions(capital, translation)) if at_start else 0
        return sum(1 for _ in _positions(self.target, translation)) + n_capital


class _Word(NamedTuple):
    text: str
    span: Span
    is_spaced: bool


class _Node:
    """A node of the tree of all terms' words, reached by the case-folded words of some terms.

    next_nodes  by the next word, and whether whitespace precedes it
    cased       targets of the terms that end here and match only as written, by their words
    any_case    targets of the one that matches any case, at most one
    """

    __slots__ = ("any_case", "cased", "next_nodes")

    def __init__(self) -> None:
        self.next_nodes: dict[tuple[str, bool], _Node] = {}
        self.cased: dict[tuple[str, ...], str | None] = {}
        self.any_case: list[str | None] = []


class Glossary:
    """Source terms with their target terms, and terms to leave untranslated.

    A term matches its words, with whitespace where it has some, however accents are encoded and
    whichever apostrophe is used; longer terms match first, and none within another. A lower-case
    term matches any case, one with a capital only as written.
    """

    def __init__(self, entries: Mapping[str, str], untranslated: Iterable[str] = ()) -> None:
        self._targets = [*entries.values(), *untranslated]
        self._root = _Node()
        self._n_most_words = 0
        for term in self._targets[len(entries) :]:
            self._add(term, None)
        for source, target in entries.items():
            self._add(source, target)

    def __bool__(self) -> bool:
        return bool(self._root.next_nodes)

    def _add(self, source: str, target: str | None) -> None:
        """Add a term, unless there is one with the same words."""
        node, words = self._root, list(_words(source))
        for step in _steps(words):
            node = node.next_nodes.setdefault(step, _Node())
        if source != source.lower():
            node.cased.setdefault(tuple(_key(word) for word in words), target)
        elif words and not node.any_case:
            node.any_case.append(target)
        self._n_most_words = max(self._n_most_words, len(words))

    def of_targets(self) -> Glossary:
        """Return a glossary that leaves the target terms untranslated, for a text that has them."""
        return Glossary({}, self._targets)

    def find(self, text: str, elsewhere: Iterable[Span] = ()) -> Iterator[Term]:
        """Yield the terms of a text in order, without overlaps with the ordered, disjoint spans
        `elsewhere`. Only as many words are kept as the longest entry has."""
        if not self:
            return
        following = _words(text)
        words = deque(islice(following, self._n_most_words))
        taken = iter(elsewhere)
        next_taken = next(taken, None)
        while words:
            while next_taken and next_taken.end <= words[0].span.start:
                next_taken = next(taken, None)
            term = self._term_at_start(text, words)
            n_read = 1
            if term and not (next_taken and next_taken.start < term.span.end):
                yield term
                n_read = term.n_words
            for _ in range(n_read):
                words.popleft()
            words.extend(islice(following, n_read))

    def _term_at_start(self, text: str, words: Sequence[_Word]) -> Term | None:
        """Return the longest term that the words start with; of equal ones, the one as written."""
        node, longest = self._root, None
        for n_words, step in enumerate(_steps(words), 1):
            if (following := node.next_nodes.get(step)) is None:
                break
            node = following
            targets = node.any_case
            if node.cased:
                written = tuple(_key(word) for word in islice(words, n_words))
                targets = [node.cased[written]] if written in node.cased else targets
            if targets:
                span = Span(words[0].span.start, words[n_words - 1].span.end)
                longest = (span, targets[0], n_words)
        if longest is None:
            return None
        span, target, n_words = longest
        source = span.of(text)
        return Term(span, source, source if target is None else target, target is not None, n_words)


NO_GLOSSARY = Glossary({})
"""A glossary without terms."""


def has_all_terms(terms: Sequence[Term], translation: str) -> bool:
    """Whether a translation has the target of each term as often as required."""
    required = Counter(term.target for term in terms)
    return all(term.count_in(translation) >= required[term.target] for term in terms)


def _key(word: _Word) -> str:
    """Return the word with its accents composed and a straight apostrophe."""
    if word.text.isascii():
        return word.text
    return "'" if word.text == "’" else unicodedata.normalize("NFC", word.text)


def _steps(words: Iterable[_Word]) -> Iterator[tuple[str, bool]]:
    """Yield each word case-folded, and whether whitespace precedes it; the first has none."""
    is_first = True
    for word in words:
        yield _key(word).casefold(), word.is_spaced and not is_first
        is_first = False


def _words(text: str) -> Iterator[_Word]:
    """Split into runs of letters and digits, and other non-whitespace characters."""
    cuts = (at for at in range(1, len(text)) if not (joins(text[at - 1]) and joins(text[at])))
    is_spaced = False
    for start, end in pairwise(chain((0,), cuts, (len(text),))):
        word = text[start:end]
        if not word.strip():
            is_spaced = True
            continue
        yield _Word(word, Span(start, end), is_spaced)
        is_spaced = False


def _positions(term: str, text: str) -> Iterator[int]:
    """Yield where the term occurs, except as part of longer words."""
    at = text.find(term)
    while at >= 0:
        end = at + len(term)
        before, behind = text[at - 1 : at] if at else "", text[end : end + 1]
        if not (joins(before) and joins(term[:1])) and not (joins(behind) and joins(term[-1:])):
            yield at
        at = text.find(term, at + 1)
