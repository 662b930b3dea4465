"""The queue between coroutines and engine threads, with the only lock.

A busy engine checks it between steps, which costs only two `len` calls if nothing changed; an idle
engine sleeps here and is woken at once.
"""

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from app.errors import DrainingError, EngineDownError
from app.scheduling.engine_state import InFlight
from app.scheduling.fair_queue import FairQueue
from app.scheduling.requests import Explanation, QueuedSegment

Waiting: TypeAlias = QueuedSegment | Explanation[Any]
"""Work for an engine."""


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

        Work that does not fit blocks the work behind it. `waits_aside` selects work that waits
        without blocking the interactive lane.
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
