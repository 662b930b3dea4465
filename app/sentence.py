"""What the queue holds: sentences, the requests that they belong to, and explanations."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.waiting import Lane
from model.decoding.hypothesis import Hypothesis
from model.engine.protocol import Engine, Job

Weights = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Completion:
    """A sentence's n best hypotheses, and the seconds it waited and was worked on."""

    hypotheses: list[Hypothesis]
    queued: float
    worked: float


@dataclass(eq=False, slots=True)
class Request:
    """Sentences that are answered together, or fail together; `deadline` by the clock."""

    lane: Lane
    client: Hashable
    submitted: float
    deadline: float
    future: asyncio.Future[list[Completion]]
    completions: dict[int, Completion] = field(default_factory=dict)
    sentences: list[Sentence] = field(default_factory=list)

    def settle(self, index: int, outcome: Completion | Exception) -> None:
        """Note what became of a sentence; the first that failed, or the last, is the answer."""
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
            return
        self.completions[index] = outcome
        if len(self.completions) == len(self.sentences):
            self.future.set_result([self.completions[i] for i in range(len(self.sentences))])


@dataclass(eq=False, slots=True)
class Sentence:
    """One sentence on its way; `n_tokens` of the source.

    cancelled  of the engine that it is in: where to tell that nobody wants it any more
    """

    job: Job
    request: Request
    index: int
    admitted: float = 0.0
    cancelled: deque[int] | None = None

    @property
    def lane(self) -> Lane:
        """That of its request."""
        return self.request.lane

    @property
    def client(self) -> Hashable:
        """That of its request, which without one is its own client."""
        return self.request if self.request.client is None else self.request.client

    @property
    def n_tokens(self) -> int:
        """Source tokens."""
        return len(self.job.source_ids)

    def settle(self, outcome: Completion | Exception) -> None:
        """Tell its request, in the event loop."""
        self.request.settle(self.index, outcome)


@dataclass(eq=False, slots=True)
class Explanation:
    """A call of `Engine.explain` that waits for an engine."""

    run: Callable[[Engine], Weights]
    future: asyncio.Future[Weights]

    def settle(self, outcome: Weights | Exception) -> None:
        """Answer, in the event loop."""
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)
