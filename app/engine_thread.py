"""One engine's thread: what joins between two steps, and what became of what ended."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from functools import partial

import structlog

from app.errors import DeadlineExceededError, EngineDownError, EngineFailedError
from app.exchange import Exchange
from app.metrics import Metrics
from app.pace import Pace
from app.sentence import Completion, Sentence
from model.engine.protocol import Engine, Finished, Progress

MAX_JOINING_TOKENS = 512
"""Source tokens that may join between two steps of an engine at work, though always a sentence.

Encoding newcomers holds up those in flight; keeping newcomers out leaves the engine half empty. The
bound keeps the hold-up near that of a few decoding steps. (TGI's `waiting_served_ratio` is the
same trade-off.)
"""

MAX_FAILURES = 10
"""Exceptions of an engine, with no sentence translated between them, after which it is down."""

Clock = Callable[[], float]
Deliver = Callable[[Sequence[Callable[[], None]]], None]

_log = structlog.get_logger()


class EngineThread:
    """Drives an engine until there is no more to do, or the engine is down.

    deliver     runs calls in the event loop, in one go
    busy_since  when what it does began, by the clock; infinity while there is nothing to do
    """

    def __init__(
        self,
        engine: Engine,
        exchange: Exchange,
        deliver: Deliver,
        clock: Clock,
        metrics: Metrics,
        *,
        name: str,
    ) -> None:
        self.pace = Pace()
        self.busy_since = math.inf
        self._engine = engine
        self._exchange = exchange
        self._in_flight = exchange.join(engine.interrupt)
        self._deliver = deliver
        self._clock = clock
        self._metrics = metrics
        self._n_failures = 0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self, seconds: float | None = None) -> None:
        """Wait for its end, no longer than so many seconds."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            while self._up and self._exchange.wait_for_work(self._in_flight):
                self.busy_since = self._clock()
                self._explain_next()
                began = self.busy_since = self._clock()
                finished, progress = self._advance(began)
                now = self._clock()
                self.pace.worked(now - began)
                self._measure(now - began)
                self._deliver(self._news(progress))
                if finished:
                    self._deliver(self._answers(finished, now))
                self.busy_since = math.inf
        finally:
            self.busy_since = math.inf
            self._leave()

    @property
    def _up(self) -> bool:
        return self._n_failures < MAX_FAILURES

    def _explain_next(self) -> None:
        explanation = self._exchange.take_explanation(self._in_flight)
        if explanation is None or explanation.future.cancelled():
            return
        try:
            weights = explanation.run(self._engine)
        except Exception as error:
            self._deliver([partial(explanation.settle, _engine_failed(error))])
        else:
            self._deliver([partial(explanation.settle, weights)])

    def _advance(self, now: float) -> tuple[list[Finished], list[Progress]]:
        """One step; if the engine raises, that is the outcome of everything in it."""
        try:
            self._drop_cancelled()
            self._admit_next(now)
            return self._engine.step(), self._engine.progress()
        except Exception as error:
            self._n_failures += 1
            return [Finished(job_id, error) for job_id in self._in_flight.ids()], []

    def _drop_cancelled(self) -> None:
        while self._in_flight.cancelled:
            job_id = self._in_flight.cancelled.popleft()
            if self._in_flight.remove(job_id):
                self._engine.cancel([job_id])

    def _admit_next(self, now: float) -> None:
        """Let in whose turn it is, as long as the engine has room and nobody is held up long."""
        may_join = MAX_JOINING_TOKENS if self._in_flight else math.inf
        joined = 0

        def fits(sentence: Sentence) -> bool:
            if sentence.deadline <= now or not self._in_flight:
                return True
            if joined and joined + sentence.n_tokens > may_join:
                self._engine.interrupt()  # after one step it may
                return False
            return self._engine.room(sentence.job)

        while sentence := self._exchange.take(self._in_flight, fits):
            if sentence.deadline <= now:
                late = DeadlineExceededError("the time was over before the work began")
                self._deliver([partial(sentence.settle, late)])
                continue
            try:
                self._engine.admit([sentence.job])
            except Exception as error:
                self._deliver([partial(sentence.settle, _engine_failed(error))])
                continue
            joined += sentence.n_tokens
            sentence.admitted = now
            self._in_flight.add(sentence)

    def _measure(self, seconds: float) -> None:
        inside = self._in_flight
        if inside:
            self._metrics.stepped(seconds, len(inside), inside.n_rows, inside.n_tokens)

    def _news(self, progress: list[Progress]) -> list[Callable[[], None]]:
        return [
            partial(sentence.progress, ids)
            for job_id, ids in progress
            if (sentence := self._in_flight.get(job_id))
        ]

    def _answers(self, finished: list[Finished], now: float) -> list[Callable[[], None]]:
        answers: list[Callable[[], None]] = []
        n_read = n_written = 0
        for job_id, outcome in finished:
            sentence = self._in_flight.remove(job_id)
            if sentence is None:  # an engine that raised may not have forgotten all it had
                continue
            self.pace.finished(sentence.n_tokens)
            if isinstance(outcome, Exception):
                answers.append(partial(sentence.settle, _engine_failed(outcome)))
            else:
                self._n_failures = 0
                n_read += sentence.n_tokens
                n_written += len(outcome[0].log_probs)
                queued = sentence.admitted - sentence.request.submitted
                completion = Completion(outcome, queued, worked=now - sentence.admitted)
                answers.append(partial(sentence.settle, completion))
        self._metrics.finished(n_read, n_written)
        return answers

    def _leave(self) -> None:
        """What is in the engine is lost with it; what waits, too, if this was the last engine."""
        in_flight = [self._in_flight.remove(job_id) for job_id in self._in_flight.ids()]
        left = [one for one in in_flight if one] + self._exchange.leave(self._in_flight)
        if not self._exchange.closed:
            _log.critical("engine down", engine=self._thread.name)
        self._deliver([partial(one.settle, EngineDownError()) for one in left])


def _engine_failed(cause: Exception) -> EngineFailedError:
    failure = EngineFailedError("the engine failed while it worked on this request")
    failure.__cause__ = cause
    return failure
