"""Admission: limits the number of concurrent requests, and the time of each."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from app.errors import DeadlineExceededError, QueueFullError

Clock = Callable[[], float]

PRUDENCE = 0.8
"""Maximum fraction of a request's timeout that its forecast wait may take."""


class Admission:
    """Places for requests that are admitted and not yet answered; one per request of any size.

    n_places  over all models
    forecast  seconds until the present work is done
    delay     seconds until work that arrived now would start
    clock     seconds, monotonic; that of the schedulers
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
        self._waiting: deque[asyncio.Event] = deque()

    @property
    def taken(self) -> int:
        """Requests admitted and not yet answered."""
        return self._taken

    def check(self, timeout: float, n_coming: int = 0) -> None:
        """Raise `QueueFullError` if there is no place, or the response would come too late.

        Requests that cannot be answered in time would only delay others. `n_coming` other requests
        are about to take a place each.
        """
        if self._taken + n_coming >= self._n_places:
            raise QueueFullError.after(
                "the server is at its limit of concurrent requests", self._forecast()
            )
        if self._taken and (delay := self._delay()) > PRUDENCE * timeout:
            raise QueueFullError.after("the answer would come too late", delay)

    def place(self, timeout: float) -> AbstractAsyncContextManager[float]:
        """Reserve a request's place for at most `timeout` seconds, before any work.

        Yields the deadline by the clock. Raises `QueueFullError` at once, and
        `DeadlineExceededError` after the timeout.
        """
        self.check(timeout)
        return self._held(timeout)

    @asynccontextmanager
    async def place_in_turn(self, timeout: float) -> AsyncIterator[float]:
        """As `place`, but waits for a place behind those who wait already, for any time."""
        while self._taken >= self._n_places:
            free = asyncio.Event()
            self._waiting.append(free)
            try:
                await free.wait()
            except BaseException:
                if free.is_set():
                    self._wake_next()
                else:
                    self._waiting.remove(free)
                raise
        async with self._held(timeout) as deadline:
            yield deadline

    @asynccontextmanager
    async def _held(self, timeout: float) -> AsyncIterator[float]:
        self._taken += 1
        try:
            async with asyncio.timeout(timeout) as deadline:
                yield self._clock() + timeout
        except TimeoutError as late:
            if not deadline.expired():
                raise
            # They would keep the frames of the work, and with them all that the request holds.
            if late.__cause__:
                late.__cause__.__traceback__ = None
            late.__cause__ = late.__context__ = late.__traceback__ = None
            raise DeadlineExceededError(f"the answer was not ready within {timeout:g} s") from None
        finally:
            self._taken -= 1
            self._wake_next()

    def _wake_next(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
