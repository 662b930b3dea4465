"""The queue between coroutines and engine threads, with the only lock.

A busy engine checks it between steps, which costs only two `len` calls if nothing changed; an idle
engine sleeps here and is woken at once.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from app.errors import DrainingError, EngineDownError
from app.scheduling.fair_queue import FairQueue
from app.scheduling.requests import Explanation, QueuedSegment

Waiting: TypeAlias = QueuedSegment | Explanation[Any]
"""Work for an engine."""


class InFlight:
    """The segments in one engine, by job id. Only its thread changes it.

    cancelled  ids of abandoned jobs, added by any thread
    n_tokens   source tokens
    n_rows     live hypotheses
    n_bulk_rows  of these, those of the bulk lane
    """

    def __init__(self) -> None:
        self.cancelled: deque[int] = deque()
        self.n_tokens = 0
        self.n_rows = 0
        self.n_bulk_rows = 0
        self._segments: dict[int, QueuedSegment] = {}

    def __len__(self) -> int:
        return len(self._segments)

    def __contains__(self, job_id: int) -> bool:
        return job_id in self._segments

    def __getitem__(self, job_id: int) -> QueuedSegment:
        return self._segments[job_id]

    def add(self, segment: QueuedSegment) -> None:
        """Add a segment that entered the engine."""
        self._segments[segment.job.id] = segment
        self.n_tokens += segment.n_tokens
        self._count_rows(segment, segment.job.options.beam_size)

    def remove(self, job_id: int) -> QueuedSegment | None:
        """Remove a segment that left the engine; return None if it is unknown."""
        segment = self._segments.pop(job_id, None)
        if segment:
            self.n_tokens -= segment.n_tokens
            self._count_rows(segment, -segment.job.options.beam_size)
        return segment

    def get(self, job_id: int) -> QueuedSegment | None:
        """Return the segment of a job in the engine, if known."""
        return self._segments.get(job_id)

    def ids(self) -> list[int]:
        """Return all job ids, oldest first."""
        return list(self._segments)

    def _count_rows(self, segment: QueuedSegment, n_rows: int) -> None:
        self.n_rows += n_rows
        if segment.lane == "bulk":
            self.n_bulk_rows += n_rows


class SharedQueue:
    """Waiting work, and the engines that share it. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._waiting = FairQueue[Waiting]()
        self._engines: list[InFlight] = []
        self._interrupts: dict[int, Callable[[], None]] = {}
        self._n_asleep = 0
        self._closed = False

    # The coroutines' side

    def submit(self, segments: Sequence[QueuedSegment]) -> None:
        """Queue segments. Raises `DrainingError`, `EngineDownError`."""
        with self._changed:
            self._check_open()
            for segment in segments:
                self._waiting.add(segment)
            self._wake_engines(len(segments))

    def ask(self, explanation: Explanation[Any]) -> None:
        """Queue an explanation. Raises as `submit`."""
        with self._changed:
            self._check_open()
            self._waiting.add(explanation)
            self._wake_engines(1)

    def withdraw(self, explanation: Explanation[Any]) -> None:
        """Remove an explanation that nobody waits for, unless it is taken already."""
        with self._changed:
            self._waiting.discard(explanation)

    def drop(self, segments: Sequence[QueuedSegment]) -> None:
        """Cancel segments: they leave the queue at once, and an engine before its next step."""
        with self._changed:
            for segment in segments:
                if not self._waiting.discard(segment) and segment.cancelled is not None:
                    segment.cancelled.append(segment.job.id)
            self._wake_engines(0)

    def close(self) -> None:
        """Accept nothing more; the threads finish the queue and leave."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._closed

    @property
    def n_waiting(self) -> int:
        """Segments and explanations."""
        return len(self._waiting)

    @property
    def n_waiting_tokens(self) -> int:
        """Waiting source tokens."""
        return self._waiting.n_tokens

    @property
    def n_bulk_tokens(self) -> int:
        """Waiting source tokens of the bulk lane."""
        return self._waiting.n_bulk_tokens

    @property
    def engines(self) -> Sequence[InFlight]:
        """The contents of each running engine."""
        return tuple(self._engines)

    def _wake_engines(self, n_new: int) -> None:
        """Wake as many engines as may be needed; make busy ones check the queue."""
        self._changed.notify(n_new)
        for interrupt in self._interrupts.values():
            interrupt()

    def _check_open(self) -> None:
        if self._closed:
            raise DrainingError("the server is stopping")
        if not self._engines:
            raise EngineDownError

    # The engines' side

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
            if self._engines:
                return []
            return self._waiting.clear()

    def wait_for_work(self, mine: InFlight) -> bool:
        """Block until there is work; return False if there never will be any."""
        if mine:
            return True
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return False
                self._n_asleep += 1
                self._changed.wait()
                self._n_asleep -= 1
            return True

    @property
    def any_asleep(self) -> bool:
        """Whether an engine waits for work."""
        return self._n_asleep > 0

    def take(self, mine: InFlight, fits: Callable[[Waiting], bool]) -> Waiting | None:
        """Take what is next, if it fits and is not better left to another engine."""
        if not self._waiting:
            return None
        with self._changed:
            if not self._waiting or len(mine) >= self._fair_share():
                return None
            if not fits(self._waiting.head()):
                return None
            taken = self._waiting.take()
            if isinstance(taken, QueuedSegment):
                taken.cancelled = mine.cancelled
            return taken

    def _fair_share(self) -> int:
        """Maximum segments per engine: the total over the number of engines, rounded up.

        So a burst is distributed, and an idle engine may always take one.
        """
        n_segments = len(self._waiting) + sum(map(len, self._engines))
        return -(-n_segments // len(self._engines))
