"""What is compared: something that searches target ids for source ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from model.decoding.hypothesis import SearchOptions

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Task:
    """What all are asked to do.

    sources  ids, target-language symbol and end of sentence included
    options  `max_target_tokens` None is what each takes for its limit, beyond any good answer
    batch    sentences worked on at a time; 1: one after the other, as they would come
    """

    sources: Sequence[Ids]
    options: SearchOptions
    batch: int


@dataclass(frozen=True)
class Answer:
    """What a system took and found.

    seconds  of the search alone, ids in, ids out
    targets  of each source its best hypothesis, without the end of sentence
    ended    of each, whether it was ended rather than cut at the limit
    """

    seconds: float
    targets: Sequence[Ids]
    ended: Sequence[bool]

    @property
    def n_tokens(self) -> int:
        """Target tokens produced, ends of sentences included."""
        return sum(map(len, self.targets)) + sum(self.ended)


class System(Protocol):
    """A way to search."""

    @property
    def name(self) -> str:
        """Implementation and precision; of those of one name the fastest is reported."""

    @property
    def threads(self) -> str:
        """How it spends its threads, such as `1 × 2`: batches at a time × threads in each."""

    def suits(self, task: Task) -> bool:
        """Whether it could be the fastest of its name at this."""

    def answer(self, task: Task) -> Answer:
        """Do it, and time it."""
