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


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry's words, case-folded if it matches any case; target None: not translated."""

    words: tuple[str, ...]
    spaced: tuple[bool, ...]
    any_case: bool
    target: str | None

    @property
    def rank(self) -> tuple[int, int, bool, bool]:
        """Sort key: longer first, then case-sensitive, then untranslated ones."""
        return (
            -len(self.words), -sum(map(len, self.words)), self.any_case, self.target is not None,
        )  # fmt: skip

    def starts(self, words: Iterable[_Word]) -> bool:
        """Whether the words start with it."""
        here = list(islice(words, len(self.words)))
        return (_texts(here, any_case=self.any_case), _spaces(here)) == (self.words, self.spaced)


class Glossary:
    """Source terms with their target terms, and terms to leave untranslated.

    A term matches its words, with whitespace where it has some, however accents are encoded and
    whichever apostrophe is used; longer terms match first, and none within another. A lower-case
    term matches any case, one with a capital only as written.
    """

    def __init__(self, entries: Mapping[str, str], untranslated: Iterable[str] = ()) -> None:
        self._targets = [*entries.values(), *untranslated]
        self._by_first_word: dict[str, list[_Entry]] = {}
        self._n_most_words = 0
        untranslated = self._targets[len(entries) :]
        for source, target in (*entries.items(), *((term, None) for term in untranslated)):
            if words := list(_words(source)):
                any_case = source == source.lower()
                entry = _Entry(_texts(words, any_case=any_case), _spaces(words), any_case, target)
                self._by_first_word.setdefault(_key(words[0], any_case=True), []).append(entry)
                self._n_most_words = max(self._n_most_words, len(words))
        for found in self._by_first_word.values():
            found.sort(key=lambda entry: entry.rank)

    def __bool__(self) -> bool:
        return bool(self._by_first_word)

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
        for entry in self._by_first_word.get(_key(words[0], any_case=True), ()):
            if entry.starts(words):
                n_words = len(entry.words)
                span = Span(words[0].span.start, words[n_words - 1].span.end)
                is_kept = entry.target is None
                target = span.of(text) if entry.target is None else entry.target
                return Term(span, span.of(text), target, not is_kept, n_words)
        return None


NO_GLOSSARY = Glossary({})
"""A glossary without terms."""


def has_all_terms(terms: Sequence[Term], translation: str) -> bool:
    """Whether a translation has the target of each term as often as required."""
    required = Counter(term.target for term in terms)
    return all(term.count_in(translation) >= required[term.target] for term in terms)


def _texts(words: Iterable[_Word], *, any_case: bool) -> tuple[str, ...]:
    return tuple(_key(word, any_case=any_case) for word in words)


def _key(word: _Word, *, any_case: bool) -> str:
    """Return what equal words have in common."""
    text = word.text
    if not text.isascii():
        text = "'" if text == "’" else unicodedata.normalize("NFC", text)
    return text.casefold() if any_case else text


def _spaces(words: Sequence[_Word]) -> tuple[bool, ...]:
    """Whether whitespace precedes each word but the first."""
    return tuple(word.is_spaced for word in words[1:])


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
