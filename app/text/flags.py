"""Detects possible defects of a translation from its text and tokens.

length_capped       it was cut at the token limit
truncated           it is far shorter than its source: part of the source is missing
repetition          it repeats a phrase
copied_source       it copies the source, or nearly so
unknown_characters  characters outside the vocabulary were lost
glossary_unmet      it lacks a requested term
numbers             amounts, times or units of its source are others in it; see `app.text.facts`
facts               other facts of its source are: ordinals, dates, eras, names with a number
other_language      it was translated as if it were in the only source language, and seems not to be
doubtful            the model finds it improbable, or it has a word that may be none
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from app.text.scripts import FEW_SPACES

Flag = Literal[
    "truncated", "length_capped", "repetition", "copied_source", "unknown_characters",
    "glossary_unmet", "numbers", "facts", "other_language", "doubtful",
]  # fmt: skip

MIN_SOURCE_TOKENS = 16
MIN_LENGTH_RATIO = 0.4
"""Target over source tokens; a translation below it is incomplete."""

MIN_WORD_RATIO = 0.4
"""Target over source words; a translation below it is incomplete, even if short. 10 of 10,010
references between English and French (Tatoeba, Europarl, NTREX) are below it."""

MAX_PERIOD = 24
"""Maximum tokens of a repeated phrase."""

MIN_REPEATS = 3
"""Repetitions beyond those of the source that count as a defect."""

MIN_SHARE_COPIED = 0.8
"""Fraction of source words that makes a translation a copy."""

MIN_LOG_PROB = -0.7
"""Mean log-probability of a translation's tokens at or below which it is doubtful."""

MIN_WORD_LOG_PROB = -3.25
"""Log-probability of a word of several pieces at or below which it is doubtful;
docs/benchmarks.md has precision and recall of both limits."""

_LETTERS = re.compile(r"[^\W\d_]+")
_GARBLED = re.compile(r"(?<=[^\W\d_lL])·(?=[^\W\d_])|[A-Za-zÀ-ɏ][Ѐ-ӿ]|[Ѐ-ӿ][A-Za-zÀ-ɏ]")
"""A middle dot within a word, except in Catalan, or Latin and Cyrillic letters in one."""


def is_truncated(n_source: int, n_target: int) -> bool:
    """Whether the target has too few tokens for its source; counts exclude control symbols."""
    return n_source >= MIN_SOURCE_TOKENS and n_target < MIN_LENGTH_RATIO * n_source


def has_too_few_words(source: str, target: str) -> bool:
    """Whether the target has too few words for its source; numbers are not counted.

    Without spaces between words, it has too few only if it has none.
    """
    least = MIN_WORD_RATIO * len(source.split())
    # Fast: most translations have as many words even without those that have other signs.
    if sum(map(str.isalpha, target.split())) >= least:
        return False
    read, written = _words(source), _words(target)
    if len(written) >= MIN_WORD_RATIO * len(read):
        return False
    return not any(FEW_SPACES.search(word) for word in written)


def is_repetition(source_ids: Sequence[int], target_ids: Sequence[int]) -> bool:
    """Whether the target repeats some phrase more often than the source repeats any."""
    if not _may_repeat(target_ids):
        return False
    turns = most_turns(target_ids)
    return turns > MIN_REPEATS and turns - most_turns(source_ids) >= MIN_REPEATS


def _may_repeat(ids: Sequence[int]) -> bool:
    """Whether as many tokens in a row as the shortest repetition has are each that often there."""
    counts = Counter(ids)
    if max(counts.values(), default=0) <= MIN_REPEATS:
        return False
    in_a_row = 0
    for token in ids:
        in_a_row = in_a_row + 1 if counts[token] > MIN_REPEATS else 0
        if in_a_row > MIN_REPEATS:
            return True
    return False


def most_turns(ids: Sequence[int]) -> int:
    """Return how often a phrase of at most `MAX_PERIOD` tokens repeats in a row, at least 1."""
    most = 1
    for period in range(1, min(MAX_PERIOD, len(ids) // 2) + 1):
        matches = 0  # consecutive tokens equal to the one a period before
        for before, token in zip(ids, ids[period:], strict=False):
            matches = matches + 1 if token == before else 0
            most = max(most, 1 + matches // period)
    return most


def is_copied(source: str, target: str) -> bool:
    """Whether nearly all words of the target are in the source, ignoring case; of fewer than five,
    all must be. A name, which should be copied, counts too."""
    read, written = _LETTERS.findall(source.casefold()), _LETTERS.findall(target.casefold())
    least = MIN_SHARE_COPIED * max(len(read), len(written))
    in_source = set(read)
    # Fast: most translations have few words of the source, so they need not be counted.
    if not in_source or sum(map(in_source.__contains__, written)) < least:
        return False
    return (Counter(read) & Counter(written)).total() >= least


def lost_characters(unknown: str, target: str) -> bool:
    """Whether a character outside the vocabulary is missing from the target."""
    return bool(unknown and Counter(unknown) - Counter(target))


def is_improbable(log_probs: Sequence[float]) -> bool:
    """Whether the model gives the tokens of a translation a low probability.

    A few tokens are not judged by their mean: the only right word of several may be improbable.
    """
    total = math.fsum(log_probs)
    return total <= MIN_WORD_LOG_PROB and total <= MIN_LOG_PROB * len(log_probs)


def has_invented_word(pieces: Iterable[str], log_probs: Sequence[float], known: str) -> bool:
    """Whether a word is spelt from pieces that are improbable together, as no known word is.

    pieces  of the translation, with `▁` at the start of a word
    known   text whose words are not judged, such as the source

    Words of languages without spaces between words are not judged.
    """
    if math.fsum(log_probs) > MIN_WORD_LOG_PROB:
        return False
    invented = list(_improbable_words(list(pieces), log_probs))
    if not invented:
        return False
    there = set(_LETTERS.findall(known.casefold()))
    return any(word not in there for word in invented)


def _improbable_words(pieces: Sequence[str], log_probs: Sequence[float]) -> Iterator[str]:
    for start, end in _spelt(pieces):
        if sum(log_probs[start:end]) <= MIN_WORD_LOG_PROB:
            word = "".join(pieces[start:end]).lstrip("▁")
            if not FEW_SPACES.search(word):
                yield _LETTERS.findall(word.casefold())[-1]


def least_word_log_prob(pieces: Sequence[str], log_probs: Sequence[float]) -> float:
    """Return the log-probability of the least probable word of several pieces; 0 if none has."""
    return min((sum(log_probs[start:end]) for start, end in _spelt(pieces)), default=0.0)


def _spelt(pieces: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each word of several pieces; others are in the vocabulary."""
    inner = [
        at
        for at, piece in enumerate(pieces)
        if piece[:1] != "▁" and at and piece[:1].isalpha() and pieces[at - 1][-1:].isalpha()
    ]
    start = end = 0
    for at in inner:
        if at != end:
            if end:
                yield start, end
            start = at - 1
        end = at + 1
    if end:
        yield start, end


def is_garbled(source: str, translation: str) -> bool:
    """Whether a word of the translation has signs within that no word has, unlike the source."""
    if translation.isascii() or not _GARBLED.search(translation):
        return False
    return not _GARBLED.search(source)


def _words(text: str) -> list[str]:
    return [word for word in text.split() if word.isalpha() or any(map(str.isalpha, word))]
