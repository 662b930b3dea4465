"""Stable prefixes of translations during a search, and searches that yield them."""

from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from itertools import takewhile
from typing import TypeAlias, TypeVar

from model.decoding.hypothesis import Hypothesis

Agreed: TypeAlias = Callable[[], list[list[int]]]
"""Computes the stable prefix of each sentence's best hypothesis; it only grows."""

Steps: TypeAlias = Generator[Agreed, None, list[list[Hypothesis]]]
"""A search that yields after every token but the last, and returns its result."""

T = TypeVar("T")


def finished(steps: Generator[object, None, T]) -> T:
    """Run a search to its end and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


def agreed_ids(rows: Iterable[Sequence[int]], ends: Collection[int]) -> list[int]:
    """Return the common prefix of all rows, up to the first id in `ends`."""
    columns = zip(*rows, strict=False)
    alike = takewhile(lambda ids: len(set(ids)) == 1 and ids[0] not in ends, columns)
    return [ids[0] for ids in alike]
