"""Runs coroutines side by side, and spreads long callbacks over iterations of the event loop.

The loop runs everything that is ready before it polls its sockets again. If a hundred coroutines
become ready at once and each works for ten milliseconds, all others wait for a second.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Hashable, Iterable, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

SHARE = 0.02
"""Seconds of an iteration after which no further caller continues in it."""

AT_A_TIME = 8
"""Callbacks per iteration of the loop. Each may assemble and send a response, and an engine's step
may finish fifty segments."""

_began: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()
"""When the first caller of the current iteration continued."""


async def turn_of_the_loop() -> None:
    """Wait for an iteration of the event loop whose share is not used up.

    The caller's work up to its next suspension counts towards the share.
    """
    loop = asyncio.get_running_loop()
    while loop in _began and loop.time() - _began[loop] >= SHARE:
        await asyncio.sleep(0)
    if loop not in _began:
        _began[loop] = loop.time()
        loop.call_soon(_began.pop, loop)  # in the next iteration


async def side_by_side(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results in order. Raises the first error after cancelling the others."""
    pending = list(coroutines)
    if len(pending) <= 1:  # as in most requests: no task needed
        return [await one for one in pending]
    outcome = await _together(pending)
    if isinstance(outcome, list):
        return outcome
    try:
        raise outcome from outcome.__cause__
    finally:  # the traceback has this frame: avoid a reference cycle
        del outcome, pending


async def _together(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T] | BaseException:
    """Return the results, or the first error once all have ended.

    A cancelled `asyncio.TaskGroup` would keep itself and the frames around it in a cycle.
    """
    tasks = [asyncio.create_task(one) for one in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        failed = [one for one in tasks if one in done and not one.cancelled() and one.exception()]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    error = failed[0].exception() if failed else None
    return [task.result() for task in tasks] if error is None else error


class Coalesced(Generic[T]):
    """Calls functions in the event loop, once for all who ask for the same in an iteration."""

    def __init__(self) -> None:
        self._pending: dict[Hashable, asyncio.Future[T]] = {}

    async def call(self, key: Hashable, function: Callable[[], T]) -> T:
        """Return the function's result, or that of another one with this key."""
        if key not in self._pending:
            loop = asyncio.get_running_loop()
            self._pending[key] = loop.create_future()
            loop.call_soon(self._run, key, function)
        return await asyncio.shield(self._pending[key])

    def _run(self, key: Hashable, function: Callable[[], T]) -> None:
        waiting = self._pending.pop(key)
        try:
            waiting.set_result(function())
        except Exception as error:
            waiting.set_exception(error)


class Callbacks:
    """Runs callbacks in an event loop in order of arrival, a few at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: deque[Callable[[], None]] = deque()
        self._lock = Lock()
        self._is_scheduled = False

    def put(self, calls: Sequence[Callable[[], None]]) -> None:
        """Schedule callbacks. Thread-safe; dropped if the loop is closed."""
        if not calls:
            return
        with self._lock:
            self._calls.extend(calls)
            if self._is_scheduled:
                return
            self._is_scheduled = True
        with suppress(RuntimeError):  # the loop is closed, nothing waits for it
            self._loop.call_soon_threadsafe(self._run_some)

    def _run_some(self) -> None:
        try:
            for _ in range(min(AT_A_TIME, len(self._calls))):
                self._calls.popleft()()
        finally:
            with self._lock:
                remain = self._is_scheduled = bool(self._calls)
            if remain:  # `_is_scheduled` may be set by a thread meanwhile, which schedules it
                self._loop.call_soon(self._run_some)
