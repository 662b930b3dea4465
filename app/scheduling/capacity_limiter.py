"""Limits the total size of large requests in progress, and with it their memory.

A text in progress takes many times its size: parts, tokens, translations, links. `Admission` limits
the number of requests, this module their size.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field

from app.concurrency.abandonment import tracked_threads
from app.errors import QueueFullError

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
                self._withdraw(waiter, client)
            raise

    def _withdraw(self, waiter: _Waiter, client: Hashable) -> None:
        line = self._lines[client]
        line.remove(waiter)
        self._waiting -= waiter.size
        if not line:
            del self._lines[client]
        self._admit()  # those behind it may be smaller

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
