"""Items of the queue: segments and explanations, and the requests that wait for them."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.scheduling.fair_queue import Caller, Waiter
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.engine.protocol import Engine, Job

SETTLED_AT_A_TIME = 16
"""Waiters of one segment settled per iteration of the loop. A text may repeat a sentence thousands
of times, and settling each takes up to a millisecond."""

Floats = NDArray[np.float32]
T = TypeVar("T")


class Searchable(Protocol):
    """The queue's view of a segment. Called in the event loop."""

    @property
    def source_ids(self) -> Sequence[int]:
        """The encoder's input."""

    @property
    def options(self) -> SearchOptions:
        """The options of its search."""

    def agree(self, ids: Sequence[int]) -> None:
        """Receive a longer certain prefix of the best hypothesis."""

    def settle(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Receive the result of the search, best first."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A segment's n best hypotheses, and its seconds of waiting and of work."""

    hypotheses: list[Hypothesis]
    queued: float
    worked: float

    def seen_from(self, later: float) -> Completion:
        """Return it as seen by a request that joined `later` seconds after the first."""
        total = max(0.0, self.queued + self.worked - later)
        worked = min(self.worked, total)
        return Completion(self.hypotheses, total - worked, worked)


@dataclass(slots=True)
class QueueTimings:
    """Seconds of a request: the longest wait, the longest work, the total time of settling."""

    queued: float = 0.0
    worked: float = 0.0
    settled: float = 0.0


@dataclass(eq=False, slots=True, kw_only=True)
class Request(Caller):
    """Segments that succeed or fail together; `deadline` by the clock.

    n_open  segments without an outcome
    queued  segments that it waits for; others may be settled from the cache
    """

    submitted: float
    deadline: float
    n_open: int
    future: asyncio.Future[QueueTimings]
    timings: QueueTimings = field(default_factory=QueueTimings)
    queued: list[QueuedSegment] = field(default_factory=list)

    def settle(self, segment: Searchable, outcome: Completion | Exception) -> None:
        """Record a segment's outcome; the first failure, or the last success, completes it."""
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
        self.timings.settled += time.perf_counter() - began
        self.timings.queued = max(self.timings.queued, outcome.queued)
        self.timings.worked = max(self.timings.worked, outcome.worked)
        self.n_open -= 1
        if not self.n_open:
            self.future.set_result(self.timings)

    def agree(self, segment: Searchable, ids: Sequence[int]) -> None:
        """Report the certain prefix of a segment."""
        if self.future.done():
            return
        try:
            segment.agree(ids)
        except Exception as error:
            self.future.set_exception(error)


@dataclass(eq=False, slots=True)
class QueuedSegment(Waiter):
    """A queued segment. Methods are called in the event loop.

    request    the first to request it, whose turn it waits for
    n_tokens   of the source
    waiters    requests to notify, each with its segment; a request may have it thousands of times
    watchers   the first of them for each request, which receive its progress
    deadline   the latest deadline of these requests, by the clock
    n_reported certain target tokens at the last report of progress
    cancelled  the cancelled ids of its engine
    settled    whether it has an outcome
    on_settled called before the requests are notified
    """

    job: Job
    request: Request
    waiters: list[tuple[Request, Searchable]] = field(default_factory=list)
    watchers: dict[Request, Searchable] = field(default_factory=dict)
    n_tokens: int = field(init=False, default=0)
    deadline: float = -math.inf
    admitted: float = 0.0
    n_reported: int = 0
    cancelled: deque[int] | None = None
    settled: bool = False
    on_settled: Callable[[QueuedSegment, Completion | Exception], None] | None = None

    def __post_init__(self) -> None:
        self.n_tokens = len(self.job.source_ids)

    def join(self, request: Request, segment: Searchable) -> None:
        """Also notify this request; call before there is an outcome."""
        request.queued.append(self)
        self.waiters.append((request, segment))
        self.watchers.setdefault(request, segment)
        self.deadline = max(self.deadline, request.deadline)

    def leave(self, request: Request) -> None:
        self.waiters = [pair for pair in self.waiters if pair[0] is not request]
        self.watchers.pop(request, None)

    @property
    def is_abandoned(self) -> bool:
        """Whether it has no requests left, and no outcome yet."""
        return not self.waiters and not self.settled

    def progress(self, ids: Sequence[int]) -> None:
        """Report the certain prefix of its best hypothesis to its requests."""
        for request, segment in list(self.watchers.items()):
            request.agree(segment, ids)

    def settle(self, outcome: Completion | Exception) -> None:
        self.settled = True
        if self.on_settled:
            self.on_settled(self, outcome)
        self._settle(outcome, deque(self.waiters))

    def _settle(
        self, outcome: Completion | Exception, waiting: deque[tuple[Request, Searchable]]
    ) -> None:
        """Settle some of the waiters now, and the others soon; those that left ignore it."""
        for _ in range(min(SETTLED_AT_A_TIME, len(waiting))):
            request, segment = waiting.popleft()
            if isinstance(outcome, Completion):
                later = request.submitted - self.request.submitted
                request.settle(segment, outcome.seen_from(later))
            else:
                request.settle(segment, outcome)
        if waiting:
            asyncio.get_running_loop().call_soon(self._settle, outcome, waiting)


@dataclass(eq=False)
class Explanation(Waiter, Generic[T]):
    """A queued call of an engine for a sentence or a few, such as `Explanations.explain`.

    n_tokens  of sources and targets
    """

    run: Callable[[Engine], T]
    future: asyncio.Future[T]
    n_tokens: int
    request: Caller

    def settle(self, outcome: T | Exception) -> None:
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)
