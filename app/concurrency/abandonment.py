"""Ends work in threads once nobody waits for it: the client left, or the deadline passed.

A thread cannot be cancelled. Work that may take long therefore calls `check_wanted` in its loops.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

_abandoned: ContextVar[threading.Event | None] = ContextVar("abandoned", default=None)


class AbandonedError(Exception):
    """Nobody waits for this work any more. Nobody sees it either."""


def check_wanted() -> None:
    """Raise `AbandonedError` in a thread of `in_thread` whose result is no longer awaited."""
    abandoned = _abandoned.get()
    if abandoned is not None and abandoned.is_set():
        raise AbandonedError


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread; if this is cancelled, `check_wanted` ends it."""
    abandoned = threading.Event()

    def run() -> T:
        _abandoned.set(abandoned)  # in the context of this call
        check_wanted()  # it may have waited for a thread
        return work()

    try:
        return await asyncio.to_thread(run)
    finally:
        abandoned.set()
