"""Room for large requests: bounds the size of those at work, and with it the memory that they take.

A text under way takes many times its size: its parts, tokens, translations and links. The number of
requests is bounded by `Admission`; their size is bounded here, whatever their number.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field

from app.concurrency.abandonment import noted_threads
from app.errors import QueueFullError

SMALL = 64
"""A request of less than this part of the room passes at once: it neither waits nor counts."""

VERY_LARGE = 4
"""After a request of at least this part of the room, memory is cleaned up."""

MAX_WAITING = 4
"""Rooms that those in line would fill; the next is refused."""


@dataclass(eq=False, slots=True)
class _Waiter:
    """A request in line; `admitted` once its size is taken."""

    size: int
    admitted: asyncio.Event = field(default_factory=asyncio.Event)


class Room:
    """Admits requests while their sizes add up to at most `size`; a larger one takes all of it.

    Others wait. Clients take turns, and none overtakes the one whose turn it is, so that the
    largest is admitted once those before it are done. Sizes are in any one unit.

    forecast  seconds until the present work is done
    clean_up  called in a thread after each request that took a fourth of the room
    """

    def __init__(
        self,
        size: int,
        forecast: Callable[[], float] = lambda: 0.0,
        clean_up: Callable[[], None] = lambda: None,
    ) -> None:
        self.size = size
        self._clean_up = clean_up
        self._free = size
        self._waiting = 0
        self._forecast = forecast
        self._lines: OrderedDict[Hashable, deque[_Waiter]] = OrderedDict()
        self._leaving: set[asyncio.Task[None]] = set()

    def taken(self, size: int, client: Hashable = None) -> AbstractAsyncContextManager[None]:
        """Wait for room and hold it; `client` is for taking turns, None for a separate one.

        Threads that work on when nobody waits for them any more hold it until they end.

        Raises `QueueFullError` if too many wait already.
        """
        size = min(size, self.size)
        return nullcontext() if size * SMALL < self.size else self._taken(size, client)

    @asynccontextmanager
    async def _taken(self, size: int, client: Hashable) -> AsyncIterator[None]:
        await self._wait(_Waiter(size), object() if client is None else client)
        with noted_threads() as threads:
            try:
                yield
            finally:
                if left := list(threads):
                    leaving = asyncio.create_task(self._give_back_after(left, size))
                    self._leaving.add(leaving)
                    leaving.add_done_callback(self._leaving.discard)
                else:
                    self._give_back(size)

    async def _give_back_after(self, threads: Sequence[Future[None]], size: int) -> None:
        try:
            await asyncio.wait([asyncio.wrap_future(thread) for thread in threads])
        finally:
            self._give_back(size)

    async def _wait(self, waiter: _Waiter, client: Hashable) -> None:
        if self._waiting + waiter.size > MAX_WAITING * self.size:
            raise QueueFullError.after("too many large requests wait already", self._forecast())
        self._waiting += waiter.size
        self._lines.setdefault(client, deque()).append(waiter)
        self._admit()
        try:
            await waiter.admitted.wait()
        except BaseException:
            if waiter.admitted.is_set():
                self._give_back(waiter.size)
            else:
                self._leave(waiter, client)
            raise

    def _leave(self, waiter: _Waiter, client: Hashable) -> None:
        line = self._lines[client]
        line.remove(waiter)
        self._waiting -= waiter.size
        if not line:
            del self._lines[client]
        self._admit()  # those behind it may be smaller

    def _give_back(self, size: int) -> None:
        self._free += size
        if size * VERY_LARGE >= self.size:
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
