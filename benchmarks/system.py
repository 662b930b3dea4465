"""The interface of compared systems: search from source ids to target ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from model.decoding.hypothesis import SearchOptions

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Task:
    """A task for all systems.

    sources  ids, including the target-language symbol and the end of sentence
    options  `max_target_tokens` None is each system's own limit, beyond any good translation
    batch    concurrent sentences; 1: one after the other
    """

    sources: Sequence[Ids]
    options: SearchOptions
    batch: int


@dataclass(frozen=True)
class Answer:
    """A system's time and results.

    seconds  of the search only, from ids to ids
    targets  the best hypothesis for each source, without the end of sentence
    ended    whether each ended before the limit
    """

    seconds: float
    targets: Sequence[Ids]
    ended: Sequence[bool]

    @property
    def n_tokens(self) -> int:
        """Number of target tokens, including ends of sentences."""
        return sum(map(len, self.targets)) + sum(self.ended)


class System(Protocol):
    """A system to compare."""

    @property
    def name(self) -> str:
        """Implementation and precision; the fastest system of each name is reported."""

    @property
    def threads(self) -> str:
        """Distribution of threads, such as `1 × 2`: concurrent batches × threads of each."""

    def suits(self, task: Task) -> bool:
        """Whether it could be the fastest of its name for the task."""

    def answer(self, task: Task) -> Answer:
        """Run the task and time it."""
