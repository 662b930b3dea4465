"""Cancels work when the client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

T = TypeVar("T")


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Await `work`, cancelling it if the client disconnects; the body must already be read.

    Raises `ClientDisconnect`.
    """
    working = asyncio.current_task()
    has_left = is_over = False

    def end(_: asyncio.Task[None]) -> None:
        nonlocal has_left
        if working and not is_over:  # a scheduled callback cannot be withdrawn
            has_left = True
            working.cancel()

    leaving = asyncio.create_task(_gone(request))
    leaving.add_done_callback(end)
    try:
        return await work
    except asyncio.CancelledError:
        if working and has_left:
            working.uncancel()
            raise ClientDisconnect from None
        raise
    finally:
        is_over = True
        leaving.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
