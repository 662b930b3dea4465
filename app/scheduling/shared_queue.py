"""The queue that coroutines fill and engines' threads empty: the one lock between them.

An engine that is at work looks here between two steps, at no more than two lengths as long as
nothing happens; an idle one sleeps here and is woken at once.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from app.errors import DrainingError, EngineDownError
from app.scheduling.fair_queue import FairQueue
from app.scheduling.queue_items import Explanation, ExplanationQueue, QueuedSegment


class InFlight:
    """The segments in one engine, by the id of their job. Only its thread changes it.

    cancelled  ids of those that nobody wants any more, told by whoever knows
    n_tokens   of their sources
    n_rows     hypotheses that are searched side by side
    n_bulk_rows  of them those of the bulk lane
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
        """It went into the engine."""
        self._segments[segment.job.id] = segment
        self.n_tokens += segment.n_tokens
        self._count_rows(segment, segment.job.options.beam_size)

    def remove(self, job_id: int) -> QueuedSegment | None:
        """It came out of the engine; None where it was not known to be in it."""
        segment = self._segments.pop(job_id, None)
        if segment:
            self.n_tokens -= segment.n_tokens
            self._count_rows(segment, -segment.job.options.beam_size)
        return segment

    def get(self, job_id: int) -> QueuedSegment | None:
        """The segment of a job that is in the engine, if it is known."""
        return self._segments.get(job_id)

    def ids(self) -> list[int]:
        """Of all, oldest first."""
        return list(self._segments)

    def _count_rows(self, segment: QueuedSegment, n_rows: int) -> None:
        self.n_rows += n_rows
        if segment.lane == "bulk":
            self.n_bulk_rows += n_rows


class SharedQueue:
    """Waiting work, and the engines that share it. Every method may be called by any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._waiting = FairQueue[QueuedSegment]()
        self._explanations = ExplanationQueue()
        self._engines: list[InFlight] = []
        self._interrupts: dict[int, Callable[[], None]] = {}
        self._n_asleep = 0
        self._closed = False

    # The coroutines' side

    def submit(self, segments: Sequence[QueuedSegment]) -> None:
        """Leave segments. Raises `DrainingError`, `EngineDownError`."""
        with self._changed:
            self._check_open()
            for segment in segments:
                self._waiting.add(segment)
            self._tell_engines(len(segments))

    def ask(self, explanation: Explanation[Any]) -> None:
        """Leave an explanation. Raises as `submit`."""
        with self._changed:
            self._check_open()
            self._explanations.add(explanation)
            self._tell_engines(1)

    def drop(self, segments: Sequence[QueuedSegment]) -> None:
        """Nobody wants these: they leave the queue at once, and an engine before its next step."""
        with self._changed:
            for segment in segments:
                if not self._waiting.discard(segment) and segment.cancelled is not None:
                    segment.cancelled.append(segment.job.id)
            self._tell_engines(0)

    def close(self) -> None:
        """Take nothing more; the threads finish what is here and leave."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        """Whether nothing more is taken."""
        return self._closed

    @property
    def n_waiting(self) -> int:
        """Segments."""
        return len(self._waiting)

    @property
    def n_waiting_tokens(self) -> int:
        """Of their sources."""
        return self._waiting.n_tokens

    @property
    def n_bulk_tokens(self) -> int:
        """Of these, those of the bulk lane."""
        return self._waiting.n_bulk_tokens

    @property
    def engines(self) -> Sequence[InFlight]:
        """What is in each of the engines that are up."""
        return tuple(self._engines)

    def _tell_engines(self, n_new: int) -> None:
        """Wake as many as may be needed; have those at work look here."""
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
        """One engine more takes part, of which `interrupt` ends a step."""
        with self._changed:
            mine = InFlight()
            self._engines.append(mine)
            self._interrupts[id(mine)] = interrupt
            return mine

    def leave(self, mine: InFlight) -> list[QueuedSegment | Explanation[Any]]:
        """One engine less; returns what nobody is left to do."""
        with self._changed:
            self._engines.remove(mine)
            del self._interrupts[id(mine)]
            if self._engines:
                return []
            return [*self._waiting.clear(), *self._explanations.clear()]

    def wait_for_work(self, mine: InFlight) -> bool:
        """True as soon as there is something to do, False if there never will be again."""
        if mine:
            return True
        with self._changed:
            while not (self._waiting or self._explanations):
                if self._closed:
                    return False
                self._n_asleep += 1
                self._changed.wait()
                self._n_asleep -= 1
            return True

    def take_explanation(self, mine: InFlight) -> Explanation[Any] | None:
        """The next explanation; an engine at work leaves it to one that is not, if any."""
        if not self._explanations:
            return None
        with self._changed:
            if not self._explanations or (mine and self._n_asleep):
                return None
            return self._explanations.take()

    def take(self, mine: InFlight, fits: Callable[[QueuedSegment], bool]) -> QueuedSegment | None:
        """The next segment, if it fits and is not rather for another engine."""
        if not self._waiting:
            return None
        with self._changed:
            if not self._waiting or len(mine) >= self._fair_share():
                return None
            if not fits(self._waiting.head()):
                return None
            segment = self._waiting.take()
            segment.cancelled = mine.cancelled
            return segment

    def _fair_share(self) -> int:
        """Segments that each engine may have: all there are by the number of engines, rounded up.

        So a burst is spread, and an idle engine may always take one.
        """
        n_segments = len(self._waiting) + sum(map(len, self._engines))
        return -(-n_segments // len(self._engines))
