"""One engine's thread: admits segments between steps, and delivers results."""

import math
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import structlog

from app.concurrency.threads import step_back
from app.errors import DeadlineExceededError, EngineDownError, EngineFailedError
from app.observe.logs import log_failure
from app.observe.metrics import EngineFailure, Metrics
from app.scheduling.engine_state import Bisection, BulkShare, Throughput
from app.scheduling.requests import Completion, Explanation
from app.scheduling.shared_queue import SharedQueue, Waiting
from model.engine.protocol import Engine, Finished, Progress
from model.errors import NumericalError

MAX_JOINING_TOKENS = 512
"""Source tokens admitted between two steps of a busy engine, though always a segment.

Encoding new segments delays those in flight; not admitting them leaves the engine half empty (as
with TGI's `waiting_served_ratio`). The limit keeps the delay near that of a few decoding steps.
"""

MAX_FAILURES = 10
"""Consecutive segments that fail alone before their engine is marked down."""

MAX_RESTARTS = 1
"""Maximum restarts of a thread that died for reasons other than an engine failure."""

Clock = Callable[[], float]
Deliver = Callable[[Sequence[Callable[[], None]]], None]

_log = structlog.get_logger()


class EngineThread:
    """Drives an engine until the queue is closed and empty, or the engine is down.

    deliver     runs callbacks in the event loop, in order
    max_tokens  source tokens in the engine at a time, though always a segment
    busy_since  start of the current work by the clock; infinity while idle
    """

    def __init__(
        self,
        engine: Engine,
        queue: SharedQueue,
        deliver: Deliver,
        clock: Clock,
        metrics: Metrics,
        *,
        name: str,
        max_tokens: float = math.inf,
    ) -> None:
        self.throughput = Throughput()
        self.busy_since = math.inf
        self._engine = engine
        self._queue = queue
        self._in_flight = queue.join(engine.interrupt)
        self._deliver = deliver
        self._clock = clock
        self._metrics = metrics
        self._n_failures = 0
        self._bulk_share = BulkShare()
        self._suspects = Bisection()
        self._max_tokens = max_tokens
        self._explain_after = -math.inf
        self._explained = 0.0  # seconds, since the last step
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, seconds: float | None = None) -> None:
        self._thread.join(seconds)

    def _run(self) -> None:
        step_back()
        death: BaseException | None = None
        try:
            for _ in range(1 + MAX_RESTARTS):
                try:
                    if death:
                        self._restart(death)
                    self._work()
                    return
                except BaseException as error:
                    death = error
                    log_failure(error)
                    self._metrics.engine_failures("thread-died").inc()
        finally:
            self.busy_since = math.inf
            self._leave()

    def _work(self) -> None:
        while self._n_failures < MAX_FAILURES and self._queue.wait_for_work(self._in_flight):
            began = self.busy_since = self._clock()
            finished, progress = self._advance(began)
            now = self._clock()
            explained, self._explained = self._explained, 0.0
            if self._in_flight or finished:
                self.throughput.worked(now - began - explained)
            if inside := self._in_flight:
                self._metrics.stepped(
                    now - began - explained, len(inside), inside.n_rows, inside.n_tokens
                )
            self._deliver(self._progress_updates(progress))
            if finished:
                self._deliver(self._answers(finished, now))
            self.busy_since = math.inf

    def _restart(self, error: BaseException) -> None:
        """Restart. Segments in the engine are lost, waiting ones are not."""
        lost = self._in_flight.clear()
        self._deliver([partial(one.settle, _engine_failed(error)) for one in lost])
        self._suspects.clear()
        self._engine.cancel([one.job.id for one in lost])
        self._metrics.engine_restarts.inc()

    def _explain(self, explanation: Explanation[Any]) -> float:
        """Run it; return the time at its end. A busy engine runs no other for as long again."""
        began = self.busy_since = self._clock()
        try:
            found = explanation.run(self._engine)
        except Exception as error:
            self._deliver([partial(explanation.settle, _engine_failed(error))])
        else:
            self._deliver([partial(explanation.settle, found)])
        now = self.busy_since = self._clock()
        self._explain_after = now + (now - began)
        self._explained += now - began
        return now

    def _advance(self, now: float) -> tuple[list[Finished], list[Progress]]:
        """Take one step. If the engine raises, bisect the batch to find the segment that failed."""
        try:
            self._drop_cancelled()
            if not self._try_suspects():
                self._admit_next(now)
            return self._engine.step(), self._engine.progress()
        except Exception as error:
            return self._failed(error), []

    def _failed(self, error: Exception) -> list[Finished]:
        inside = self._in_flight.segments
        lost = self._suspects.on_trial(inside.__contains__) or list(inside)
        if isinstance(error, MemoryError):
            self._lower_max_tokens(sum(inside[job_id].n_tokens for job_id in lost))
        if len(lost) > 1:  # of a single one, the request that it fails is logged and counted
            log_failure(error)
            self._metrics.engine_failures(_kind_of(error)).inc()
        try:
            self._engine.cancel(lost)  # only a `step` that raised leaves the engine empty
        except Exception as another:
            error = another
        else:
            if len(lost) > 1:
                self._suspects.suspect(lost)
                return []
        self._n_failures += 1
        return [Finished(job_id, error) for job_id in lost]

    def _lower_max_tokens(self, n_tokens: int) -> None:
        """Allow at most half of `n_tokens` from now on."""
        self._max_tokens = min(self._max_tokens, n_tokens // 2)
        _log.warning("out of memory", engine=self._thread.name, max_tokens=self._max_tokens)

    def _try_suspects(self) -> bool:
        """Admit the next group to try, if none is on trial; return whether one is."""
        inside = self._in_flight.segments
        if self._suspects and not self._suspects.on_trial(inside.__contains__):
            group = self._suspects.next_group(inside.__contains__)
            self._engine.admit([inside[job_id].job for job_id in group])
        return bool(self._suspects)

    def _drop_cancelled(self) -> None:
        while self._in_flight.cancelled:
            job_id = self._in_flight.cancelled.popleft()
            if self._in_flight.remove(job_id):
                self._engine.cancel([job_id])

    def _admit_next(self, now: float) -> None:
        """Admit segments in fair order, while they fit and the delay is short.

        An explanation runs when it is its turn; later segments wait for it.
        """
        may_join = MAX_JOINING_TOKENS if self._in_flight else math.inf
        joined = 0

        def fits(segment: Waiting) -> bool:
            if isinstance(segment, Explanation):
                is_due = now >= self._explain_after and not self._queue.any_asleep
                return is_due or not self._in_flight
            if segment.deadline <= now or not self._in_flight:
                return True
            if self._in_flight.n_tokens + segment.n_tokens > self._max_tokens:
                return False
            if joined and joined + segment.n_tokens > may_join:
                self._engine.interrupt()  # it may join after one step
                return False
            return self._engine.can_admit(segment.job)

        def exceeds_bulk_share(segment: Waiting) -> bool:
            if isinstance(segment, Explanation) or segment.lane != "bulk" or not self._in_flight:
                return False
            n_rows = self._in_flight.n_bulk_rows + segment.job.options.beam_size
            return segment.deadline > now and n_rows > self._bulk_share.n_rows(now)

        while segment := self._queue.take(self._in_flight, fits, exceeds_bulk_share):
            if isinstance(segment, Explanation):
                now = self._explain(segment)
                continue
            if segment.deadline <= now:
                late = DeadlineExceededError("the deadline passed before the work started")
                self._deliver([partial(segment.settle, late)])
                continue
            try:
                self._engine.admit([segment.job])
            except Exception as error:
                self._deliver([partial(segment.settle, _engine_failed(error))])
                continue
            joined += segment.n_tokens
            if segment.lane == "interactive":
                self._bulk_share.single_came(now)
            segment.admitted = now
            self._in_flight.add(segment)

    def _progress_updates(self, progress: list[Progress]) -> list[Callable[[], None]]:
        updates: list[Callable[[], None]] = []
        for job_id, ids in progress:
            segment = self._in_flight.segments.get(job_id)
            if segment and len(ids) > segment.n_reported:  # a retried segment starts over
                segment.n_reported = len(ids)
                updates.append(partial(segment.progress, ids))
        return updates

    def _answers(self, finished: list[Finished], now: float) -> list[Callable[[], None]]:
        answers: list[Callable[[], None]] = []
        n_read = n_written = 0
        for job_id, outcome in finished:
            segment = self._in_flight.remove(job_id)
            if segment is None:  # an engine whose `cancel` raised may still hold jobs
                continue
            self.throughput.finished(segment.n_tokens)
            if isinstance(outcome, Exception):
                self._metrics.engine_failures(_kind_of(outcome)).inc()
                answers.append(partial(segment.settle, _engine_failed(outcome)))
            else:
                self._n_failures = 0
                n_read += segment.n_tokens
                n_written += len(outcome[0].log_probs)
                queued = segment.admitted - segment.request.submitted
                completion = Completion(outcome, queued, worked=now - segment.admitted)
                answers.append(partial(segment.settle, completion))
        self._metrics.finished(n_read, n_written)
        return answers

    def _leave(self) -> None:
        """Fail the segments in the engine, and waiting ones if this was the last engine."""
        left = [*self._in_flight.clear(), *self._queue.leave(self._in_flight)]
        if not self._queue.closed:
            _log.critical("engine down", engine=self._thread.name)
        self._deliver([partial(one.settle, EngineDownError()) for one in left])


def _kind_of(error: Exception) -> EngineFailure:
    if isinstance(error, MemoryError):
        return "out-of-memory"
    return "not-finite" if isinstance(error, NumericalError) else "exception"


def _engine_failed(cause: BaseException) -> EngineFailedError:
    failure = EngineFailedError("the engine failed on this request")
    failure.__cause__ = cause
    return failure
