"""What the queue holds: segments, the requests that they belong to, and explanations."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.scheduling.fair_queue import Lane
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.engine.protocol import Engine, Job

Floats = NDArray[np.float32]
T = TypeVar("T")


class Searchable(Protocol):
    """A segment as the queue sees it. In the event loop."""

    @property
    def source_ids(self) -> Sequence[int]:
        """What the encoder reads."""

    @property
    def options(self) -> SearchOptions:
        """How it is searched for."""

    def agree(self, ids: Sequence[int]) -> None:
        """The best hypothesis will begin with these ids, as with those told before."""

    def settle(self, hypotheses: Sequence[Hypothesis]) -> None:
        """The search is over; best first."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A segment's n best hypotheses, and the seconds it waited and was worked on."""

    hypotheses: list[Hypothesis]
    queued: float
    worked: float

    def seen_from(self, later: float) -> Completion:
        """As it looks to one who asked for the segment some seconds after the first."""
        total = max(0.0, self.queued + self.worked - later)
        worked = min(self.worked, total)
        return Completion(self.hypotheses, total - worked, worked)


@dataclass(slots=True)
class Spent:
    """Seconds that the segments of a request took: the longest wait, the longest work, and what
    all took to settle.
    """

    queued: float = 0.0
    worked: float = 0.0
    settled: float = 0.0


@dataclass(eq=False, slots=True)
class Request:
    """Segments that are answered together, or fail together; `deadline` by the clock.

    n_open  of them without an outcome
    queued  segments that it waits for; others may be settled without
    """

    lane: Lane
    client: Hashable
    submitted: float
    deadline: float
    n_open: int
    future: asyncio.Future[Spent]
    spent: Spent = field(default_factory=Spent)
    queued: list[QueuedSegment] = field(default_factory=list)

    def settle(self, segment: Searchable, outcome: Completion | Exception) -> None:
        """Note what became of a segment; the first that failed, or the last, is the answer."""
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
            return
        began = time.perf_counter()
        try:
            segment.settle(outcome.hypotheses)
        except Exception as error:
            self.future.set_exception(error)
            return
        self.spent.settled += time.perf_counter() - began
        self.spent.queued = max(self.spent.queued, outcome.queued)
        self.spent.worked = max(self.spent.worked, outcome.worked)
        self.n_open -= 1
        if not self.n_open:
            self.future.set_result(self.spent)

    def agree(self, segment: Searchable, ids: Sequence[int]) -> None:
        """Tell what is certain of a segment."""
        if self.future.done():
            return
        try:
            segment.agree(ids)
        except Exception as error:
            self.future.set_exception(error)


@dataclass(eq=False, slots=True)
class QueuedSegment:
    """One segment on its way; `n_tokens` of the source.

    request    the first that asked for it, whose turn it waits for
    askers     requests that are to be told, each with its segment
    deadline   by the clock, of the most patient of them
    n_told     target tokens that were certain when its progress was last told
    cancelled  of the engine that it is in: where to tell that nobody wants it any more
    settled    whether there is an outcome
    on_settled is told it before the requests are
    """

    job: Job
    request: Request
    askers: list[tuple[Request, Searchable]] = field(default_factory=list)
    deadline: float = -math.inf
    admitted: float = 0.0
    n_told: int = 0
    cancelled: deque[int] | None = None
    settled: bool = False
    on_settled: Callable[[QueuedSegment, Completion | Exception], None] | None = None

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

    def join(self, request: Request, segment: Searchable) -> None:
        """Have the request told, too; before there is an outcome, in the event loop."""
        request.queued.append(self)
        self.askers.append((request, segment))
        self.deadline = max(self.deadline, request.deadline)

    def leave(self, request: Request) -> None:
        """Do not tell the request, in the event loop."""
        self.askers = [(asker, segment) for asker, segment in self.askers if asker is not request]

    @property
    def is_abandoned(self) -> bool:
        """Whether nobody asks for it any more, and it has no outcome yet."""
        return not self.askers and not self.settled

    def progress(self, ids: Sequence[int]) -> None:
        """Tell who asked for it what its best hypothesis will begin with, in the event loop."""
        for request, segment in self.askers:
            request.agree(segment, ids)

    def settle(self, outcome: Completion | Exception) -> None:
        """Tell who asked for it, in the event loop."""
        self.settled = True
        if self.on_settled:
            self.on_settled(self, outcome)
        for request, segment in self.askers:
            if isinstance(outcome, Completion):
                later = request.submitted - self.request.submitted
                request.settle(segment, outcome.seen_from(later))
            else:
                request.settle(segment, outcome)


@dataclass(eq=False)
class Explanation(Generic[T]):
    """A call of an engine that looks at one sentence, such as `Engine.explain`, and waits for one.

    It runs between two steps. `client` takes turns with others; None is one of its own.
    """

    run: Callable[[Engine], T]
    future: asyncio.Future[T]
    client: Hashable = None

    def settle(self, outcome: T | Exception) -> None:
        """Answer, in the event loop."""
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


class ExplanationQueue:
    """Looks at single sentences that wait for an engine, in turns between clients.

    Whoever has many waits between any two of them for one of every other client.
    """

    def __init__(self) -> None:
        self._by_client: dict[Hashable, deque[Explanation[Any]]] = {}  # next turn first

    def __bool__(self) -> bool:
        return bool(self._by_client)

    def add(self, explanation: Explanation[Any]) -> None:
        """Behind its client's others; one of no client is a client of its own."""
        client = explanation if explanation.client is None else explanation.client
        self._by_client.setdefault(client, deque()).append(explanation)

    def take(self) -> Explanation[Any] | None:
        """The next that somebody still waits for."""
        while self._by_client:
            client = next(iter(self._by_client))
            waiting = self._by_client.pop(client)
            while waiting:
                explanation = waiting.popleft()
                if not explanation.future.cancelled():
                    if waiting:
                        self._by_client[client] = waiting
                    return explanation
        return None

    def clear(self) -> list[Explanation[Any]]:
        """All that wait, which wait no more."""
        left = [one for waiting in self._by_client.values() for one in waiting]
        self._by_client.clear()
        return left
