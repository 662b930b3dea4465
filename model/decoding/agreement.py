"""What is certain of translations before a search is done, and searches that stop to tell it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeAlias, TypeVar

from torch import Tensor

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


def agreed_ids(rows: Tensor, ends: set[int]) -> list[int]:
    """[R, T], all that may become the best → the ids that all begin with, up to one of `ends`."""
    if not len(rows):  # a model whose output is not finite
        return []
    alike = (rows == rows[0]).all(dim=0).long().cumprod(dim=0)
    ids = rows[0, : int(alike.sum())].tolist()
    return ids[: next((t for t, token in enumerate(ids) if token in ends), len(ids))]
