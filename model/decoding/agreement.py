"""What is certain of translations before a search is done, and searches that stop to tell it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from itertools import takewhile
from typing import TypeAlias, TypeVar

from model.decoding.hypothesis import Hypothesis

Agreed: TypeAlias = Callable[[], list[list[int]]]
"""Works out what the best hypothesis of each sentence is sure to begin with; it only grows."""

Steps: TypeAlias = Generator[Agreed, None, list[list[Hypothesis]]]
"""A search that stops after every token but the last, and returns what it found."""

T = TypeVar("T")


def finished(steps: Generator[object, None, T]) -> T:
    """What a search returns that nobody stops."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


def agreed_ids(rows: Iterable[Sequence[int]], ends: Collection[int]) -> list[int]:
    """The ids that all rows, which are all that may become the best, begin with, up to an end."""
    columns = zip(*rows, strict=False)
    alike = takewhile(lambda ids: len(set(ids)) == 1 and ids[0] not in ends, columns)
    return [ids[0] for ids in alike]
