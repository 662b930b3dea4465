"""Runs blocking work in a daemon thread, which does not delay the exit of the process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_background(work: Callable[[], T]) -> T:
    """Run `work` in a new daemon thread and return its result.

    Unlike with `asyncio.to_thread`, the process can exit without waiting for it.
    """
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
            tell = partial(settle, result=works.pop()())
        except BaseException as error:
            tell = partial(settle, error=error)
        with suppress(RuntimeError):  # the loop is closed, nothing waits for it
            loop.call_soon_threadsafe(tell)

    threading.Thread(target=run, name="background", daemon=True).start()
    return await future
