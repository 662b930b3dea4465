"""Breaks translations into lines."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, islice

from app.text.scripts import UNSPACED

_CLAUSE_END = ".,;:!?…)»”"
_WORTH_OF_CLAUSE_END = 5
"""Characters by which a line's length may deviate so that it ends with a clause."""


def filled(text: str, width: int, blank: str = " ") -> str:
    """Replace blanks between words by line breaks so that, if possible, no line is longer."""
    characters = list(text)
    start, last = 0, None
    blanks = [match.start() for match in re.finditer(rf"(?<=\S){blank}(?=\S)", text)]
    for end in [*blanks, len(text)]:
        if end - start > width and last is not None:
            characters[last] = "\n"
            start = last + 1
        last = end
    return "".join(characters)


def apportioned(text: str, shares: Sequence[int]) -> list[str]:
    """Return the text in lines whose lengths are in proportion to `shares`.

    There are fewer lines if it has fewer words; only scripts without spaces are cut within words.
    """
    blanks = [match.start() for match in re.finditer(r"(?<=\S) (?=\S)", text)]
    unspaced = len(blanks) < len(shares) - 1 and UNSPACED.search(text)
    cuts = list(range(1, len(text))) if unspaced else blanks
    n_cuts = min(len(shares) - 1, len(cuts))
    sum_of_shares = sum(shares)
    lines: list[str] = []
    start = first = 0
    for number, share in enumerate(islice(accumulate(shares), n_cuts)):
        ideal = len(text) * share / max(1, sum_of_shares)
        last = len(cuts) - n_cuts + number  # each further cut needs a position after this one
        nearest = min(max(first, bisect_left(cuts, ideal)), last)
        near = range(max(first, nearest - 2), min(nearest + 2, last) + 1)
        chosen = min(near, key=lambda at: _cost(text, cuts[at], ideal))
        lines.append(text[start : cuts[chosen]])
        start = cuts[chosen] + (0 if unspaced else 1)
        first = chosen + 1
    return [*lines, text[start:]]


def _cost(text: str, cut: int, ideal: float) -> float:
    return abs(cut - ideal) - _WORTH_OF_CLAUSE_END * (text[cut - 1] in _CLAUSE_END)
