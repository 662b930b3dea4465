"""Admission: how many requests the server works on at a time, and for how long each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from app.errors import DeadlineExceededError, QueueFullError

Clock = Callable[[], float]

PRUDENCE = 0.8
"""Of the time that a request has, the part that the work ahead of it may take by the forecast."""


class Admission:
    """Places for requests: admitted and not yet answered. One a request, whatever it makes of it.

    n_places  over all models together
    forecast  in how many seconds what is here will be done
    delay     after how many seconds what came now would be begun
    clock     seconds, monotonic; the schedulers' own
    """

    def __init__(
        self,
        n_places: int,
        forecast: Callable[[], float],
        delay: Callable[[], float] = lambda: 0.0,
        clock: Clock = time.monotonic,
    ) -> None:
        self._n_places = n_places
        self._forecast = forecast
        self._delay = delay
        self._clock = clock
        self._taken = 0

    @property
    def taken(self) -> int:
        """Requests admitted and not yet answered."""
        return self._taken

    def check(self, timeout: float, n_coming: int = 0) -> None:
        """Raise `QueueFullError` if there is no place, or none that is worth having.

        Who could not be answered in time would only take time from those who can. `n_coming` are
        about to take a place, each.
        """
        if self._taken + n_coming >= self._n_places:
            raise QueueFullError.after("all places are taken", self._forecast())
        if self._taken and (delay := self._delay()) > PRUDENCE * timeout:
            raise QueueFullError.after("the answer would come too late", delay)

    @asynccontextmanager
    async def place(self, timeout: float) -> AsyncIterator[float]:
        """A request's place, for `timeout` seconds at most; reserve it before any work.

        Yields the deadline by the clock. Raises `QueueFullError` at once, and
        `DeadlineExceededError` when the time is over.
        """
        self.check(timeout)
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
