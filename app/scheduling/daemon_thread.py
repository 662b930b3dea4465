"""Blocking work in a daemon thread, which the end of the process does not wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_background(work: Callable[[], T]) -> T:
    """What `work` returns or raises, from a daemon thread of its own.

    Unlike with `asyncio.to_thread`, whoever stops waiting may end the process at once.
    """
    loop = asyncio.get_running_loop()
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
            tell = partial(settle, result=work())
        except BaseException as error:
            tell = partial(settle, error=error)
        with suppress(RuntimeError):  # the loop is closed, nobody waits any more
            loop.call_soon_threadsafe(tell)

    threading.Thread(target=run, name="background", daemon=True).start()
    return await future
