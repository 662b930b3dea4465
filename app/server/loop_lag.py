"""Detects that the event loop cannot keep up."""

from __future__ import annotations

import asyncio

INTERVAL = 0.02
"""Seconds between checks of the clock."""

MAX_LAG = 0.05
"""Seconds by which a check may be late; probes wait about as long."""

SUSTAINED = 2
"""Consecutive late checks. One alone may be garbage collection or a process that was not run."""


class LoopLag:
    """Checks the clock of the running event loop, from `start` to `stop`."""

    def __init__(self) -> None:
        self._n_late = 0
        self._next: asyncio.TimerHandle | None = None

    @property
    def sustained(self) -> bool:
        """Whether the loop was late in the last checks."""
        return self._n_late >= SUSTAINED

    def start(self) -> None:
        """Start checking."""
        loop = asyncio.get_running_loop()
        self._check(loop, loop.time())

    def stop(self) -> None:
        """Stop checking."""
        if self._next:
            self._next.cancel()

    def _check(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        now = loop.time()
        self._n_late = self._n_late + 1 if now - due > MAX_LAG else 0
        self._next = loop.call_later(INTERVAL, self._check, loop, now + INTERVAL)
