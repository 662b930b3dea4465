"""Threads for blocking work, and priorities of threads below the event loop's.

A thread cannot be cancelled. Long work therefore calls `check_abandoned` in its loops, which ends
it once its result is not needed: the client left, or the deadline passed.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import TypeAlias, TypeVar

T = TypeVar("T")

NICENESS = 5
"""Added niceness of threads that run engines or load models.

Engines wait for the event loop, whose tasks are short: lower priority than the loop's raises
throughput by 11 % if every core has an engine. Requests wait for loads, so loads have the priority
of engines: at a lower one, a load took 17 s on a busy machine.
"""


Threads: TypeAlias = set[Future[None]]
"""Running threads; each future is done when its thread has ended."""

_abandoned: ContextVar[threading.Event | None] = ContextVar("abandoned", default=None)
_tracked: ContextVar[Threads | None] = ContextVar("tracked", default=None)


async def in_background(work: Callable[[], T]) -> T:
    """Run `work` in a new daemon thread, which does not delay the exit of the process."""
    loop = asyncio.get_running_loop()
    works = [work]  # the thread drops it before it reports: it may refer to a model
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None = None, error: BaseException | None = None) -> None:
        if future.done():
            return
        if error:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        try:
            report = partial(settle, result=works.pop()())
        except BaseException as error:
            report = partial(settle, error=error)
        with suppress(RuntimeError):  # the loop is closed, nothing waits for it
            loop.call_soon_threadsafe(report)

    threading.Thread(target=run, name="background", daemon=True).start()
    return await future


def step_back(niceness: int = NICENESS) -> None:
    """Lower the calling thread's priority, where that is permitted and supported (on Linux)."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        total = os.getpriority(os.PRIO_PROCESS, thread) + niceness
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, total)


class AbandonedError(Exception):
    """Nothing awaits the result of this work, nor this error."""


def check_abandoned() -> None:
    """Raise `AbandonedError` in a thread of `in_thread` if nothing awaits its result."""
    abandoned = _abandoned.get()
    if abandoned is not None and abandoned.is_set():
        raise AbandonedError


@contextmanager
def tracked_threads() -> Iterator[Threads]:
    """Track the threads that `in_thread` starts within the block, until they end."""
    threads: Threads = set()
    token = _tracked.set(threads)
    try:
        yield threads
    finally:
        _tracked.reset(token)


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread; if this is cancelled, `check_abandoned` ends it."""
    abandoned = threading.Event()
    threads = _tracked.get()

    def run() -> T:
        _abandoned.set(abandoned)  # in the context of this call
        check_abandoned()  # the call may have waited for a thread
        if threads is None:
            return work()
        ended: Future[None] = Future()
        threads.add(ended)
        try:
            return work()
        finally:
            threads.discard(ended)
            ended.set_result(None)

    try:
        return await asyncio.to_thread(run)
    finally:
        abandoned.set()
