"""Calls from engines' threads into the event loop, a few at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

AT_A_TIME = 8
"""Calls before the loop looks at its sockets again. Behind each may be an answer to be put together
and sent, and a step may end fifty segments."""


class Callbacks:
    """Calls that are made in an event loop in the order in which they came, a few at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: deque[Callable[[], None]] = deque()

    def put(self, calls: Sequence[Callable[[], None]]) -> None:
        """Have these made, too. From any thread; once the loop is closed they never are."""
        if calls:
            self._calls.extend(calls)
            with suppress(RuntimeError):  # the loop is closed, nobody waits any more
                self._loop.call_soon_threadsafe(self._make_some)

    def _make_some(self) -> None:
        try:
            for _ in range(min(AT_A_TIME, len(self._calls))):
                self._calls.popleft()()
        finally:
            if self._calls:
                self._loop.call_soon(self._make_some)
