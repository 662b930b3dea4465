"""The async queue: who is admitted to the engine, and when.

    place ──▶ waiting ──admit──▶ in flight ──step──▶ finished
                 └──── cancelled, at any time ────┘

One thread drives the engine; coroutines hand it sentences and await their futures. There is no
wait timer: an idle engine starts at once on what is there, and whatever arrives meanwhile joins
between its steps, in order of arrival, as far as `max_batch_tokens` goes. A deadline or a client
that left cancels the futures, and with them the work.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from app.errors import (
    DeadlineExceededError,
    DrainingError,
    EngineDownError,
    EngineFailedError,
    QueueFullError,
)
from app.pace import Pace
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.engine.protocol import AttentionKind, Engine, Finished, Job

MAX_RETRY_AFTER = 60
"""Seconds; a longer forecast is worth less than asking again."""

Weights = NDArray[np.float32]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Completion:
    """A sentence's n best hypotheses, and the seconds it waited and was worked on."""

    hypotheses: list[Hypothesis]
    queued: float
    worked: float


@dataclass(slots=True)
class _Sentence:
    job: Job
    future: Future[Completion]
    submitted: float
    admitted: float = 0.0

    @property
    def n_tokens(self) -> int:
        return len(self.job.source_ids)


@dataclass(frozen=True, slots=True)
class _Explanation:
    run: Callable[[], Weights]
    future: Future[Weights]


class Scheduler:
    """Owns the engine from `start` to `stop`; its coroutines belong to one event loop.

    max_requests      places: requests admitted and not yet answered
    max_batch_tokens  sentences in flight × the longest of them, in source tokens; a single
                      sentence is always admitted
    clock             seconds, monotonic
    """

    def __init__(
        self,
        engine: Engine,
        *,
        max_requests: int,
        max_batch_tokens: int,
        clock: Clock = time.monotonic,
    ) -> None:
        self._engine = engine
        self._max_requests = max_requests
        self._max_batch_tokens = max_batch_tokens
        self._clock = clock
        self._pace = Pace()
        self._ids = count()
        self._places = 0
        # Guards what follows, up to the thread; the event loop's side never holds it for long.
        self._changed = threading.Condition()
        self._waiting: deque[_Sentence] = deque()
        self._in_flight: dict[int, _Sentence] = {}
        self._explanations: deque[_Explanation] = deque()
        self._cancelled: list[int] = []
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    # The event loop's side

    def start(self) -> None:
        """Start the engine's thread."""
        self._thread.start()

    async def stop(self) -> None:
        """Take nothing more, finish what was submitted, end the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        await asyncio.to_thread(self._thread.join)

    @property
    def alive(self) -> bool:
        """Whether the engine's thread runs."""
        return self._thread.is_alive()

    @asynccontextmanager
    async def place(self, timeout: float) -> AsyncIterator[None]:
        """A request's place, for `timeout` seconds at most; reserve it before any work.

        Raises `QueueFullError`, `DrainingError` or `EngineDownError` at once, and
        `DeadlineExceededError` when the time is over.
        """
        if self._stopping:
            raise DrainingError("the server is stopping")
        if not self.alive:
            raise EngineDownError("the engine has stopped", MAX_RETRY_AFTER)
        if self._places >= self._max_requests:
            raise QueueFullError("all places are taken", self._retry_after())
        self._places += 1
        try:
            async with asyncio.timeout(timeout) as deadline:
                yield
        except TimeoutError:
            if not deadline.expired():
                raise
            raise DeadlineExceededError(f"the answer was not ready within {timeout:g} s") from None
        finally:
            self._places -= 1

    async def translate(
        self, sources: Iterable[Sequence[int]], options: SearchOptions
    ) -> list[Completion]:
        """Search each source; answers in the order of the sources. Cancelling drops the work.

        Raises `EngineFailedError`, `DrainingError`.
        """
        now = self._clock()
        sentences = [
            _Sentence(Job(next(self._ids), tuple(source), options), Future(), now)
            for source in sources
        ]
        for sentence in sentences:
            sentence.future.add_done_callback(partial(self._note_cancelled, sentence.job.id))
        with self._changed:
            if self._stopping:
                raise DrainingError("the server is stopping")
            self._waiting.extend(sentences)
            self._changed.notify()
        try:
            return await asyncio.gather(*(asyncio.wrap_future(s.future) for s in sentences))
        finally:
            for sentence in sentences:  # one that failed, or a client that left, ends them all
                sentence.future.cancel()

    async def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> Weights:
        """`Engine.explain` on the engine's thread, between two steps. Raises as `translate`."""
        run = partial(self._engine.explain, source_ids, target_ids, kind)
        explanation = _Explanation(run, Future())
        with self._changed:
            if self._stopping:
                raise DrainingError("the server is stopping")
            self._explanations.append(explanation)
            self._changed.notify()
        return await asyncio.wrap_future(explanation.future)

    def _note_cancelled(self, job_id: int, future: Future[Completion]) -> None:
        if future.cancelled():
            with self._changed:
                self._cancelled.append(job_id)
                self._changed.notify()

    def _retry_after(self) -> int:
        """Seconds until the sentences now here are done, at the pace of late."""
        with self._changed:
            sentences = [*self._waiting, *self._in_flight.values()]
        tokens = sum(s.n_tokens for s in sentences if not s.future.cancelled())
        seconds = tokens * self._pace.seconds_per_token
        return min(max(1, math.ceil(seconds)), MAX_RETRY_AFTER)

    # The engine's side

    def _run(self) -> None:
        while self._wait_for_work():
            self._explain_next()
            cancelled = self._drop_cancelled()
            admitted = self._admit_next()
            finished = self._step(cancelled, admitted)
            self._hand_out(finished)

    def _wait_for_work(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or self._has_work())
            return self._has_work()

    def _has_work(self) -> bool:
        return bool(self._in_flight or self._waiting or self._explanations or self._cancelled)

    def _explain_next(self) -> None:
        with self._changed:
            explanation = self._explanations.popleft() if self._explanations else None
        if explanation and explanation.future.set_running_or_notify_cancel():
            try:
                explanation.future.set_result(explanation.run())
            except Exception as error:
                explanation.future.set_exception(_engine_failed(error))

    def _drop_cancelled(self) -> list[int]:
        """Jobs in flight that nobody wants any more; those that wait are passed over later."""
        with self._changed:
            cancelled, self._cancelled = self._cancelled, []
            return [job_id for job_id in cancelled if self._in_flight.pop(job_id, None)]

    def _admit_next(self) -> list[Job]:
        """Move sentences from waiting to in flight, oldest first, while the padded batch fits."""
        admitted: list[Job] = []
        with self._changed:
            longest = max((s.n_tokens for s in self._in_flight.values()), default=0)
            while self._waiting:
                sentence = self._waiting[0]
                if not sentence.future.cancelled():
                    longest = max(longest, sentence.n_tokens)
                    cost = longest * (len(self._in_flight) + 1)
                    if self._in_flight and cost > self._max_batch_tokens:
                        break
                    sentence.admitted = self._clock()
                    self._in_flight[sentence.job.id] = sentence
                    admitted.append(sentence.job)
                self._waiting.popleft()
        return admitted

    def _step(self, cancelled: list[int], admitted: list[Job]) -> list[Finished]:
        """Advance the engine; if it raises, that is the outcome of everything in flight."""
        began = self._clock()
        try:
            self._engine.cancel(cancelled)
            self._engine.admit(admitted)
            return self._engine.step()
        except Exception as error:
            return [Finished(job_id, error) for job_id in self._in_flight]
        finally:
            self._pace.worked(self._clock() - began)

    def _hand_out(self, finished: list[Finished]) -> None:
        now = self._clock()
        for job_id, outcome in finished:
            with self._changed:
                sentence = self._in_flight.pop(job_id, None)
            if sentence is None:  # an engine that raised may not have forgotten all it had
                continue
            self._pace.finished(sentence.n_tokens)
            if sentence.future.set_running_or_notify_cancel():
                if isinstance(outcome, Exception):
                    sentence.future.set_exception(_engine_failed(outcome))
                else:
                    queued = sentence.admitted - sentence.submitted
                    sentence.future.set_result(
                        Completion(outcome, queued, worked=now - sentence.admitted)
                    )


def _engine_failed(cause: Exception) -> EngineFailedError:
    failure = EngineFailedError("the engine failed while it worked on this request")
    failure.__cause__ = cause
    return failure
