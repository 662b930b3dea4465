"""The async queue: coroutines submit segments and await results; engines take them.

    waiting ──admit──▶ in flight ──step──▶ finished
       └──── cancelled, at any time ────┘

Each engine has its own thread, and all share one fair queue. There is no batching timer: an idle
engine starts at once on the available segments, and later ones join between its steps if they fit.
A deadline or a disconnected client cancels the work. A segment of several requests, concurrent or
consecutive, is searched once (`deduplication`).
"""

import asyncio
import math
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TypeVar

from app.concurrency.coroutines import Callbacks
from app.concurrency.threads import in_background
from app.errors import QueueFullError
from app.observe.metrics import Metrics
from app.scheduling.deduplication import SharedSegments
from app.scheduling.engine_state import Throughput
from app.scheduling.engine_thread import Clock, EngineThread
from app.scheduling.explanations import QueuedExplanations
from app.scheduling.fair_queue import Lane
from app.scheduling.requests import QueuedSegment, QueueTimings, Request, Searchable
from app.scheduling.shared_queue import SharedQueue
from model.engine.protocol import Engine, Job

T = TypeVar("T")


JOINED_AT_A_TIME = 64
"""Segments of a request queued, or settled from the cache, per iteration of the loop."""


@dataclass(eq=False, slots=True)
class PendingTokens:
    """Source tokens, approximately, that a request has announced and not submitted."""

    n_tokens: float

    def submitted(self, n_tokens: int) -> None:
        self.n_tokens = max(0.0, self.n_tokens - n_tokens)


@dataclass(frozen=True, slots=True)
class Load:
    """The current load in segments and source tokens, and the number of running engines."""

    waiting: int
    waiting_tokens: int
    in_flight: int
    in_flight_tokens: int
    engines: int


class Scheduler:
    """Owns the engines from `start` to `stop`; its coroutines belong to one event loop.

    explanations      the engines' own, between two steps
    clock             monotonic, in seconds
    cache_bytes       memory of the cache of results; 0 disables it
    step_timeout      seconds after which a step counts as hanging
    max_queue_tokens  maximum waiting source tokens per lane, unless all are of one request
    max_batch_tokens  maximum source tokens in an engine, though always a segment
    """

    def __init__(
        self,
        engines: Sequence[Engine],
        *,
        clock: Clock = time.monotonic,
        metrics: Metrics | None = None,
        cache_bytes: int = 0,
        step_timeout: float = math.inf,
        max_queue_tokens: float = math.inf,
        max_batch_tokens: float = math.inf,
    ) -> None:
        self._engines = engines
        self._shared = SharedSegments(cache_bytes)
        self._clock = clock
        self.metrics = metrics or Metrics()
        self._step_timeout = step_timeout
        self._max_queue_tokens = max_queue_tokens
        self._max_batch_tokens = max_batch_tokens
        self._queue = SharedQueue()
        self.explanations = QueuedExplanations(self._queue)
        self._threads: list[EngineThread] = []
        self._ids = count()
        self._pending: set[PendingTokens] = set()

    def start(self) -> None:
        """Start a thread for each engine; call in the event loop that receives the results."""
        deliver = Callbacks(asyncio.get_running_loop()).put
        self._threads = [
            EngineThread(
                engine,
                self._queue,
                deliver,
                self._clock,
                self.metrics,
                name=f"engine {index}",
                max_tokens=self._max_batch_tokens,
            )
            for index, engine in enumerate(self._engines)
        ]
        for thread in self._threads:
            thread.start()

    async def stop(self, seconds: float | None = None) -> None:
        """Accept nothing more, finish what was submitted, stop the threads.

        After `seconds`, the remaining threads are left to end with the process.
        """
        self._queue.close()
        end = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            left = None if end is None else max(0.0, end - time.monotonic())
            await in_background(partial(thread.join, left))

    @property
    def alive(self) -> bool:
        """Whether any engine is running, and none hangs in a step."""
        return bool(self._queue.engines) and not self.hangs

    @property
    def hangs(self) -> bool:
        now = self._clock()
        return any(now - thread.busy_since > self._step_timeout for thread in self._threads)

    @property
    def n_bytes(self) -> int:
        """Memory of the weights, once for each device, of the engines and of cached results."""
        weights: dict[str, int] = {}
        for engine in self._engines:
            device = engine.info.device
            weights[device] = max(weights.get(device, 0), engine.memory.weights)
        work = sum(engine.memory.work for engine in self._engines)
        return sum(weights.values()) + work + self._shared.n_bytes

    @property
    def load(self) -> Load:
        engines = self._queue.engines
        return Load(
            waiting=len(self._queue.waiting),
            waiting_tokens=self._queue.waiting.n_tokens,
            in_flight=sum(map(len, engines)),
            in_flight_tokens=sum(in_flight.n_tokens for in_flight in engines),
            engines=len(engines),
        )

    def forecast(self) -> float:
        """Return the seconds until the present segments are done, by recent throughput."""
        load = self.load
        return self._seconds_for(load.waiting_tokens + load.in_flight_tokens + self._n_pending)

    def delay(self) -> float:
        """Seconds until a new segment would start; lists do not delay single segments."""
        return self._seconds_for(self._queue.waiting.n_tokens - self._queue.waiting.n_bulk_tokens)

    def forget_pace(self) -> None:
        """Reset the throughput, which the warm-up distorts."""
        for thread in self._threads:
            thread.throughput = Throughput()

    def _seconds_for(self, n_tokens: float) -> float:
        if not n_tokens:
            return 0.0
        slowest = max(thread.throughput.seconds_per_token for thread in self._threads)
        return n_tokens * slowest / max(1, len(self._queue.engines))

    async def search(
        self,
        segments: Sequence[Searchable],
        *,
        lane: Lane = "interactive",
        client: Hashable = None,
        deadline: float = math.inf,
        stream: bool = False,
        is_new: bool = True,
    ) -> QueueTimings:
        """Search for each segment and settle it with its hypotheses. Cancelling drops the work.

        client    for fair queueing; None for one with only this request
        deadline  by the clock; segments that wait longer never reach an engine
        stream    also report certain prefixes to segments
        is_new    whether a full queue may reject it

        Raises `QueueFullError`, `EngineFailedError`, `DeadlineExceededError`, `DrainingError`,
        `EngineDownError`, and errors of `Searchable.settle`.
        """
        if not segments:
            return QueueTimings()
        future: asyncio.Future[QueueTimings] = asyncio.get_running_loop().create_future()
        request = Request(
            client,
            lane,
            submitted=self._clock(),
            deadline=deadline,
            n_open=len(segments),
            future=future,
        )
        jobs: list[Job] = []
        for start in range(0, len(segments), JOINED_AT_A_TIME):
            await _turn(start)
            jobs += [
                Job(next(self._ids), tuple(one.source_ids), one.options, stream)
                for one in segments[start : start + JOINED_AT_A_TIME]
            ]
        if is_new:
            n_tokens = sum(len(one.source_ids) for one in jobs)
            self._check_queue(lane, n_tokens, lambda: self._shared.n_new_tokens(jobs, lane))
        try:
            for start in range(0, len(jobs), JOINED_AT_A_TIME):
                await _turn(start)
                if future.done():
                    break
                some = slice(start, start + JOINED_AT_A_TIME)
                self._submit(jobs[some], segments[some], request)
            return await future
        finally:  # a failure or a disconnected client ends them all
            if abandoned := self._shared.leave(request):
                self._queue.drop(abandoned)

    def _submit(
        self, jobs: Sequence[Job], segments: Sequence[Searchable], request: Request
    ) -> None:
        """Join known segments, and queue the others. Raises `DrainingError`, `EngineDownError`."""
        opened: list[QueuedSegment] = []
        for job, segment in zip(jobs, segments, strict=True):
            if not self._shared.join(job, request, segment):
                opened.append(QueuedSegment(job, request))
                opened[-1].join(request, segment)
                self._shared.open(opened[-1])
        if opened:
            self._queue.submit(opened)

    @contextmanager
    def announce(self, n_tokens: float, *, may_be_refused: bool = True) -> Iterator[PendingTokens]:
        """Announce a request in the bulk lane, of about `n_tokens` source tokens, sent in portions.

        Search each portion with `is_new` False. Raises as `check_capacity`.
        """
        if may_be_refused:
            self.check_capacity(n_tokens)
        pending = PendingTokens(n_tokens)
        self._pending.add(pending)
        try:
            yield pending
        finally:
            self._pending.remove(pending)

    def check_capacity(self, n_tokens: float) -> None:
        """Raise `QueueFullError` if others wait in the bulk lane, and this would be too much."""
        self._check_queue("bulk", n_tokens, lambda: n_tokens)

    @property
    def _n_pending(self) -> float:
        return sum(one.n_tokens for one in self._pending)

    def _check_queue(self, lane: Lane, n_tokens: float, n_new: Callable[[], float]) -> None:
        """Limit the size of a request if others wait in its lane. Raises `QueueFullError`.

        n_new  counts its tokens without those of known segments
        """
        bulk = self._queue.waiting.n_bulk_tokens
        interactive = self._queue.waiting.n_tokens - bulk
        waiting = bulk + self._n_pending if lane == "bulk" else interactive
        if not waiting or waiting + n_tokens <= self._max_queue_tokens:
            return
        if waiting + n_new() > self._max_queue_tokens:
            raise QueueFullError.after("the queue is full", self.forecast())


async def _turn(start: int) -> None:
    """Yield to the event loop, except before the first: a request may have many segments."""
    if start:
        await asyncio.sleep(0)
