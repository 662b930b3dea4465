"""What is, or may be, wrong with a translation, told from its text and tokens alone.

length_capped       it was cut at the token limit
truncated           it is far shorter than its source: part of the source is missing
repetition          it runs in a circle
copied_source       it is the source, or hardly more
unknown_characters  characters that the vocabulary lacks got lost
glossary_unmet      it does not have a term that the request asked for
numbers             it says other numbers than its source; see `app.text.numbers`
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from app.text.scripts import FEW_BLANKS

Flag = Literal[
    "truncated", "length_capped", "repetition", "copied_source", "unknown_characters",
    "glossary_unmet", "numbers",
]  # fmt: skip

MIN_SOURCE_TOKENS = 16
MIN_LENGTH_RATIO = 0.4
"""Target over source tokens: a translation below it leaves something out."""

MIN_WORD_RATIO = 0.4
"""Target over source words: a translation below it leaves something out, however short it is.

So are 10 of 10,010 references between English and French (Tatoeba, Europarl, NTREX).
"""

MAX_PERIOD = 24
"""Tokens; a longer phrase that repeats is not looked for."""

MIN_REPEATS = 3
"""Further turns, beyond those of the source, that make a circle."""

MIN_SHARE_COPIED = 0.8
"""Of the source's words, that make a translation a copy."""


def is_truncated(n_source: int, n_target: int) -> bool:
    """Whether the target has too few tokens for a source of so many, control symbols left out."""
    return n_source >= MIN_SOURCE_TOKENS and n_target < MIN_LENGTH_RATIO * n_source


def has_too_few_words(source: str, target: str) -> bool:
    """Whether the target has too few words for those of its source; numbers are none.

    Where it is written without spaces between words, it has too few only if it has none.
    """
    read, written = _words(source), _words(target)
    if len(written) >= MIN_WORD_RATIO * len(read):
        return False
    return not any(FEW_BLANKS.search(word) for word in written)


def is_repetition(source_ids: Sequence[int], target_ids: Sequence[int]) -> bool:
    """Whether the target goes round some phrase more often than the source goes round any."""
    # In all but a few translations no token comes often enough for a circle.
    if len(target_ids) - len(set(target_ids)) < MIN_REPEATS:
        return False
    turns = most_turns(target_ids)
    return turns > MIN_REPEATS and turns - most_turns(source_ids) >= MIN_REPEATS


def most_turns(ids: Sequence[int]) -> int:
    """How many times the most repeated phrase stands in direct succession; 1 if none repeats.

    A phrase has `MAX_PERIOD` tokens at most.
    """
    most = 1
    for period in range(1, min(MAX_PERIOD, len(ids) // 2) + 1):
        matches = 0  # tokens in a row that equal the one a period before
        for before, token in zip(ids, ids[period:], strict=False):
            matches = matches + 1 if token == before else 0
            most = max(most, 1 + matches // period)
    return most


def is_copied(source: str, target: str) -> bool:
    """Whether the target has hardly any word that the source does not have, case aside.

    Of a source below five words every word must be there. Something to copy, such as a name alone,
    is rightly copied; this cannot tell.
    """
    read, written = (re.findall(r"[^\W\d_]+", text.casefold()) for text in (source, target))
    if set(read).isdisjoint(written):
        return False
    n_common = (Counter(read) & Counter(written)).total()
    return n_common >= MIN_SHARE_COPIED * max(len(read), len(written))


def lost_characters(unknown: str, target: str) -> bool:
    """Whether a character that the vocabulary lacks is not in the target."""
    return bool(Counter(unknown) - Counter(target))


def _words(text: str) -> list[str]:
    return [word for word in text.split() if any(map(str.isalpha, word))]
