"""The queue between coroutines and engine threads, with the only lock.

A busy engine checks it between steps, which costs only two `len` calls if nothing changed; an idle
engine sleeps here and is woken at once.
"""

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from app.errors import DrainingError, EngineDownError
from app.scheduling.fair_queue import FairQueue
from app.scheduling.requests import Explanation, QueuedSegment

BULK_ROWS = 64
"""Maximum hypotheses of lists in an engine, though always a segment."""

BULK_ROWS_IN_COMPANY = 32
"""The same while single segments arrive."""

COMPANY_SECONDS = 1.0
"""Seconds after a single segment in which others are expected."""


class BulkShare:
    """The share of an engine that long lists may have, so that single segments fit soon.

    With two threads and beam 4, beside lists of 2,000 segments, the 95th percentile of 20 single
    ones per second is 145 ms without a limit, 43 ms with 64 hypotheses and 25 ms with 32. Lists
    take equally long; at base size, a tenth longer with 32.

    `now` is by the scheduler's clock.
    """

    def __init__(self) -> None:
        self._company_until = -math.inf

    def single_came(self, now: float) -> None:
        self._company_until = now + COMPANY_SECONDS

    def n_rows(self, now: float) -> int:
        return BULK_ROWS_IN_COMPANY if now < self._company_until else BULK_ROWS


Waiting: TypeAlias = QueuedSegment | Explanation[Any]
"""Work for an engine."""


class InFlight:
    """The segments in one engine, by job id. Only its thread changes it.

    cancelled    ids of abandoned jobs, added by any thread
    n_tokens     source tokens
    n_rows       live hypotheses
    n_bulk_rows  of these, those of the bulk lane
    """

    def __init__(self) -> None:
        self.segments: dict[int, QueuedSegment] = {}
        self.cancelled: deque[int] = deque()
        self.n_tokens = 0
        self.n_rows = 0
        self.n_bulk_rows = 0

    def __len__(self) -> int:
        return len(self.segments)

    def add(self, segment: QueuedSegment) -> None:
        self.segments[segment.job.id] = segment
        self._count(segment, 1)

    def remove(self, job_id: int) -> QueuedSegment | None:
        """Remove a segment that left the engine; return None if it is unknown."""
        segment = self.segments.pop(job_id, None)
        if segment:
            self._count(segment, -1)
        return segment

    def clear(self) -> list[QueuedSegment]:
        return [one for job_id in list(self.segments) if (one := self.remove(job_id))]

    def _count(self, segment: QueuedSegment, sign: int) -> None:
        n_rows = sign * segment.job.options.beam_size
        self.n_tokens += sign * segment.n_tokens
        self.n_rows += n_rows
        if segment.lane == "bulk":
            self.n_bulk_rows += n_rows


class SharedQueue:
    """Waiting work, and the engines that share it. Thread-safe."""

    def __init__(self) -> None:
        self.waiting = FairQueue[Waiting]()
        self.closed = False
        self._changed = threading.Condition(threading.Lock())
        self._engines: list[InFlight] = []
        self._interrupts: dict[int, Callable[[], None]] = {}
        self._n_asleep = 0

    @property
    def engines(self) -> Sequence[InFlight]:
        return tuple(self._engines)

    @property
    def any_asleep(self) -> bool:
        return self._n_asleep > 0

    # Called by coroutines

    def submit(self, work: Sequence[Waiting]) -> None:
        """Queue work. Raises `DrainingError`, `EngineDownError`."""
        with self._changed:
            if self.closed:
                raise DrainingError("the server is stopping")
            if not self._engines:
                raise EngineDownError
            for one in work:
                self.waiting.add(one)
            self._wake_engines(len(work))

    def withdraw(self, explanation: Explanation[Any]) -> None:
        """Remove an explanation that nobody waits for, unless it is taken already."""
        with self._changed:
            self.waiting.discard(explanation)

    def drop(self, segments: Sequence[QueuedSegment]) -> None:
        """Cancel segments: they leave the queue at once, and an engine before its next step."""
        with self._changed:
            for segment in segments:
                if not self.waiting.discard(segment) and segment.cancelled is not None:
                    segment.cancelled.append(segment.job.id)
            self._wake_engines(0)

    def close(self) -> None:
        """Accept nothing more; the threads finish the queue and leave."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def _wake_engines(self, n_new: int) -> None:
        """Wake as many engines as may be needed; make busy ones check the queue."""
        self._changed.notify(n_new)
        for interrupt in self._interrupts.values():
            interrupt()

    # Called by engine threads

    def join(self, interrupt: Callable[[], None]) -> InFlight:
        """Add an engine; `interrupt` ends its step."""
        with self._changed:
            mine = InFlight()
            self._engines.append(mine)
            self._interrupts[id(mine)] = interrupt
            return mine

    def leave(self, mine: InFlight) -> list[Waiting]:
        """Remove an engine; return the work for which no engine is left."""
        with self._changed:
            self._engines.remove(mine)
            del self._interrupts[id(mine)]
            return [] if self._engines else self.waiting.clear()

    def wait_for_work(self, mine: InFlight) -> bool:
        """Block until there is work; return False if there never will be any."""
        if mine:
            return True
        with self._changed:
            while not self.waiting:
                if self.closed:
                    return False
                self._n_asleep += 1
                self._changed.wait()
                self._n_asleep -= 1
            return True

    def take(
        self,
        mine: InFlight,
        fits: Callable[[Waiting], bool],
        waits_aside: Callable[[Waiting], bool],
    ) -> Waiting | None:
        """Take what is next, if it fits and is not better left to another engine.

        What does not fit holds back what comes after it, unless it waits aside.
        """
        if not self.waiting:
            return None
        with self._changed:
            # The fair share, rounded up: a burst is distributed, and an idle engine may take one.
            n_segments = len(self.waiting) + sum(map(len, self._engines))
            if not self.waiting or len(mine) >= math.ceil(n_segments / len(self._engines)):
                return None
            for head in self.waiting.heads():
                if waits_aside(head):
                    continue
                if not fits(head):
                    return None
                if isinstance(taken := self.waiting.take(head), QueuedSegment):
                    taken.cancelled = mine.cancelled
                return taken
            return None
