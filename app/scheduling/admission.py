"""Limits the number of concurrent requests, the time of each, and the total size of large ones.

A text in progress takes many times its size in memory: parts, tokens, translations, links.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field

from app.concurrency.threads import tracked_threads
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
            # Tracebacks keep the frames of the work, and with them the request.
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


MIN_COUNTED_FRACTION = 1 / 64
"""Smaller requests, as a fraction of the capacity, neither wait nor count."""

CLEAN_UP_FRACTION = 1 / 4
"""After a request of at least this fraction of the capacity, memory is cleaned up."""

MAX_WAITING_CAPACITIES = 4
"""Total size of the waiting requests, in capacities; further ones are rejected."""


@dataclass(eq=False, slots=True)
class _Waiter:
    size: int
    admitted: asyncio.Event = field(default_factory=asyncio.Event)


class CapacityLimiter:
    """Admits requests whose sizes add up to at most `capacity`; a larger one takes all of it.

    Others wait. Clients take turns, and no request overtakes the one whose turn it is, so that
    even the largest is admitted. Sizes are in any unit.

    forecast  seconds until the present work is done
    clean_up  called in a thread after large requests
    """

    def __init__(
        self,
        capacity: int,
        forecast: Callable[[], float] = lambda: 0.0,
        clean_up: Callable[[], None] = lambda: None,
    ) -> None:
        self.capacity = capacity
        self._clean_up = clean_up
        self._free = capacity
        self._waiting = 0
        self._forecast = forecast
        self._lines: OrderedDict[Hashable, deque[_Waiter]] = OrderedDict()
        self._releasing: set[asyncio.Task[None]] = set()

    def reserve(self, size: int, client: Hashable = None) -> AbstractAsyncContextManager[None]:
        """Wait for capacity and hold it. Raises `QueueFullError` if too many wait already.

        Threads that outlive the body, because it was cancelled, hold the capacity until they end.
        Requests with `client` None take turns as separate clients.
        """
        size = min(size, self.capacity)
        if size < MIN_COUNTED_FRACTION * self.capacity:
            return nullcontext()
        return self._reserve(size, object() if client is None else client)

    @asynccontextmanager
    async def _reserve(self, size: int, client: Hashable) -> AsyncIterator[None]:
        await self._wait(_Waiter(size), client)
        with tracked_threads() as threads:
            try:
                yield
            finally:
                if running := list(threads):
                    releasing = asyncio.create_task(self._release_after(running, size))
                    self._releasing.add(releasing)
                    releasing.add_done_callback(self._releasing.discard)
                else:
                    self._release(size)

    async def _release_after(self, threads: Sequence[Future[None]], size: int) -> None:
        try:
            await asyncio.wait([asyncio.wrap_future(thread) for thread in threads])
        finally:
            self._release(size)

    async def _wait(self, waiter: _Waiter, client: Hashable) -> None:
        if self._waiting + waiter.size > MAX_WAITING_CAPACITIES * self.capacity:
            raise QueueFullError.after("too many large requests wait already", self._forecast())
        self._waiting += waiter.size
        self._lines.setdefault(client, deque()).append(waiter)
        self._admit()
        try:
            await waiter.admitted.wait()
        except BaseException:
            if waiter.admitted.is_set():
                self._release(waiter.size)
            else:
                self._lines[client].remove(waiter)
                self._waiting -= waiter.size
                if not self._lines[client]:
                    del self._lines[client]
                self._admit()  # a later one may be smaller
            raise

    def _release(self, size: int) -> None:
        self._free += size
        if size >= CLEAN_UP_FRACTION * self.capacity:
            asyncio.get_running_loop().run_in_executor(None, self._clean_up)
        self._admit()

    def _admit(self) -> None:
        while self._lines:
            client, line = next(iter(self._lines.items()))
            if line[0].size > self._free:
                return
            waiter = line.popleft()
            self._free -= waiter.size
            self._waiting -= waiter.size
            waiter.admitted.set()
            if line:
                self._lines.move_to_end(client)
            else:
                del self._lines[client]
