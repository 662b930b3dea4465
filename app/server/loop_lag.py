"""Whether the event loop keeps up with what comes in."""

from __future__ import annotations

import asyncio

INTERVAL = 0.02
"""Seconds between two looks at the clock."""

MAX_LAG = 0.05
"""Seconds by which a look may be late; probes wait about as long."""

SUSTAINED = 2
"""Late looks in a row. One alone is a collection of garbage, or a process that was not run."""


class LoopLag:
    """Looks at the clock of the running event loop, from `start` to `stop`."""

    def __init__(self) -> None:
        self._n_late = 0
        self._next: asyncio.TimerHandle | None = None

    @property
    def sustained(self) -> bool:
        """Whether the loop is behind, and not for a moment only."""
        return self._n_late >= SUSTAINED

    def start(self) -> None:
        """Begin to look."""
        loop = asyncio.get_running_loop()
        self._look(loop, loop.time())

    def stop(self) -> None:
        """Look no more."""
        if self._next:
            self._next.cancel()

    def _look(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        now = loop.time()
        self._n_late = self._n_late + 1 if now - due > MAX_LAG else 0
        self._next = loop.call_later(INTERVAL, self._look, loop, now + INTERVAL)
