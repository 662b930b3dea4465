"""Limits the number of concurrent requests, and the time of each."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from app.errors import DeadlineExceededError, QueueFullError

Clock = Callable[[], float]

MAX_DELAY_FRACTION = 0.8
"""Maximum fraction of a request's timeout that its forecast wait may take."""


class Admission:
    """Slots for requests that are admitted and not yet answered; one per request of any size.

    n_slots   over all models
    forecast  seconds until the present work is done
    delay     seconds until new work would start
    clock     monotonic seconds, as in the schedulers
    """

    def __init__(
        self,
        n_slots: int,
        forecast: Callable[[], float],
        delay: Callable[[], float] = lambda: 0.0,
        clock: Clock = time.monotonic,
    ) -> None:
        self.n_admitted = 0
        self._n_slots = n_slots
        self._forecast = forecast
        self._delay = delay
        self._clock = clock
        self._waiting: deque[asyncio.Event] = deque()

    def check(self, timeout: float, n_coming: int = 0) -> None:
        """Raise `QueueFullError` if no slot is free, or the response would come too late.

        Requests that cannot be answered in time would only delay others. `n_coming` other requests
        are about to take a slot each.
        """
        if self.n_admitted + n_coming >= self._n_slots:
            raise QueueFullError.after(
                "the server is at its limit of concurrent requests", self._forecast()
            )
        if self.n_admitted and (delay := self._delay()) > MAX_DELAY_FRACTION * timeout:
            raise QueueFullError.after("the answer would come too late", delay)

    def slot(self, timeout: float) -> AbstractAsyncContextManager[float]:
        """Hold a slot for at most `timeout` seconds; yields the deadline by the clock.

        Raises `QueueFullError` at once, and `DeadlineExceededError` after the timeout.
        """
        self.check(timeout)
        return self._hold(timeout)

    @asynccontextmanager
    async def slot_in_turn(self, timeout: float) -> AsyncIterator[float]:
        """As `slot`, but waits for a free slot as long as necessary, first come, first served."""
        while self.n_admitted >= self._n_slots:
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
        async with self._hold(timeout) as deadline:
            yield deadline

    @asynccontextmanager
    async def _hold(self, timeout: float) -> AsyncIterator[float]:
        self.n_admitted += 1
        try:
            async with asyncio.timeout(timeout) as deadline:
                yield self._clock() + timeout
        except TimeoutError as late:
            if not deadline.expired():
                raise
            # Otherwise they keep the frames of the work, and all that the request holds.
            if late.__cause__:
                late.__cause__.__traceback__ = None
            late.__cause__ = late.__context__ = late.__traceback__ = None
            raise DeadlineExceededError(f"the answer was not ready within {timeout:g} s") from None
        finally:
            self.n_admitted -= 1
            self._wake_next()

    def _wake_next(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
