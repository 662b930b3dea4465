"""Daemon threads for blocking work, and priorities of threads below the event loop's."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

T = TypeVar("T")

NICENESS = 5
"""Added niceness of engine threads. The event loop's tasks are short, and engines wait for them:
with as many engines as cores, throughput rises by 11 %."""

LOADING_NICENESS = 10
"""Added niceness of threads that load models, which should not delay the engines."""


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
