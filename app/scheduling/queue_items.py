"""What the queue holds: sentences, the requests that they belong to, and explanations."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.scheduling.fair_queue import Lane
from model.decoding.hypothesis import Hypothesis
from model.engine.protocol import Engine, Job

Floats = NDArray[np.float32]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Completion:
    """A sentence's n best hypotheses, and the seconds it waited and was worked on."""

    hypotheses: list[Hypothesis]
    queued: float
    worked: float

    def seen_from(self, later: float) -> Completion:
        """As it looks to one who asked for the sentence some seconds after the first."""
        total = max(0.0, self.queued + self.worked - later)
        worked = min(self.worked, total)
        return Completion(self.hypotheses, total - worked, worked)


class Listener(Protocol):
    """Who wants to know of a request's sentences before it is answered. In the event loop."""

    def agreed(self, index: int, ids: Sequence[int]) -> None:
        """The best hypothesis of a sentence will begin with these ids; those told before do."""

    def completed(self, index: int, completion: Completion) -> None:
        """A sentence is done."""


@dataclass(eq=False, slots=True)
class Request:
    """Sentences that are answered together, or fail together; `deadline` by the clock.

    sentences  that it waits for; others may be settled without
    """

    lane: Lane
    client: Hashable
    submitted: float
    deadline: float
    n_sentences: int
    future: asyncio.Future[list[Completion]]
    listener: Listener | None = None
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
        if self.listener:
            self.listener.completed(index, outcome)
        if len(self.completions) == self.n_sentences:
            self.future.set_result([self.completions[i] for i in range(self.n_sentences)])


@dataclass(eq=False, slots=True)
class Sentence:
    """One sentence on its way; `n_tokens` of the source.

    request    the first that asked for it, whose turn it waits for
    askers     requests that are to be told, and the sentence's index in each
    deadline   by the clock, of the most patient of them
    n_told     target tokens that were certain when its progress was last told
    cancelled  of the engine that it is in: where to tell that nobody wants it any more
    settled    whether there is an outcome
    on_settled is told it before the requests are
    """

    job: Job
    request: Request
    askers: list[tuple[Request, int]] = field(default_factory=list)
    deadline: float = -math.inf
    admitted: float = 0.0
    n_told: int = 0
    cancelled: deque[int] | None = None
    settled: bool = False
    on_settled: Callable[[Sentence, Completion | Exception], None] | None = None

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

    def join(self, request: Request, index: int) -> None:
        """Have the request told, too; before there is an outcome, in the event loop."""
        request.sentences.append(self)
        self.askers.append((request, index))
        self.deadline = max(self.deadline, request.deadline)

    def leave(self, request: Request) -> None:
        """Do not tell the request, in the event loop."""
        self.askers = [(asker, index) for asker, index in self.askers if asker is not request]

    @property
    def is_abandoned(self) -> bool:
        """Whether nobody asks for it any more, and it has no outcome yet."""
        return not self.askers and not self.settled

    def progress(self, ids: Sequence[int]) -> None:
        """Tell who listens what its best hypothesis will begin with, in the event loop."""
        for request, index in self.askers:
            if request.listener:
                request.listener.agreed(index, ids)

    def settle(self, outcome: Completion | Exception) -> None:
        """Tell who asked for it, in the event loop."""
        self.settled = True
        if self.on_settled:
            self.on_settled(self, outcome)
        for request, index in self.askers:
            if isinstance(outcome, Completion):
                later = request.submitted - self.request.submitted
                request.settle(index, outcome.seen_from(later))
            else:
                request.settle(index, outcome)


@dataclass(eq=False)
class Explanation(Generic[T]):
    """A call of an engine that looks at one sentence, such as `Engine.explain`, and waits for one.

    It runs between two steps.
    """

    run: Callable[[Engine], T]
    future: asyncio.Future[T]

    def settle(self, outcome: T | Exception) -> None:
        """Answer, in the event loop."""
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)
