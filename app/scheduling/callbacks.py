"""Callbacks from engine threads into the event loop, a few at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

AT_A_TIME = 8
"""Callbacks per iteration of the loop. Each may assemble and send a response, and a step may finish
fifty segments."""


class Callbacks:
    """Runs callbacks in an event loop in order of arrival, a few at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: deque[Callable[[], None]] = deque()

    def put(self, calls: Sequence[Callable[[], None]]) -> None:
        """Schedule callbacks. Thread-safe; dropped if the loop is closed."""
        if calls:
            self._calls.extend(calls)
            with suppress(RuntimeError):  # the loop is closed, nothing waits for it
                self._loop.call_soon_threadsafe(self._make_some)

    def _make_some(self) -> None:
        try:
            for _ in range(min(AT_A_TIME, len(self._calls))):
                self._calls.popleft()()
        finally:
            if self._calls:
                self._loop.call_soon(self._make_some)
