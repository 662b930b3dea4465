"""Admission: how many requests the server works on at a time, and for how long each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from app.errors import DeadlineExceededError, QueueFullError

Clock = Callable[[], float]


class Places:
    """Places for requests: admitted and not yet answered. One a request, whatever it makes of it.

    n_places     over all models together
    retry_after  forecasts in how many seconds a place may be free, for those that are refused
    clock        seconds, monotonic; the schedulers' own
    """

    def __init__(
        self, n_places: int, retry_after: Callable[[], int], clock: Clock = time.monotonic
    ) -> None:
        self._n_places = n_places
        self._retry_after = retry_after
        self._clock = clock
        self._taken = 0

    @property
    def taken(self) -> int:
        """Requests admitted and not yet answered."""
        return self._taken

    @asynccontextmanager
    async def place(self, timeout: float) -> AsyncIterator[float]:
        """A request's place, for `timeout` seconds at most; reserve it before any work.

        Yields the deadline by the clock. Raises `QueueFullError` at once, and
        `DeadlineExceededError` when the time is over.
        """
        if self._taken >= self._n_places:
            raise QueueFullError("all places are taken", self._retry_after())
        self._taken += 1
        try:
            async with asyncio.timeout(timeout) as deadline:
                yield self._clock() + timeout
        except TimeoutError:
            if not deadline.expired():
                raise
            raise DeadlineExceededError(f"the answer was not ready within {timeout:g} s") from None
        finally:
            self._taken -= 1
