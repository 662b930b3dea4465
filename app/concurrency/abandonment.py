"""Ends work in threads once nobody waits for it: the client left, or the deadline passed.

A thread cannot be cancelled. Work that may take long therefore calls `check_wanted` in its loops.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Threads: TypeAlias = set[Future[None]]
"""Threads that run, each with a future that is done when it has ended."""

_abandoned: ContextVar[threading.Event | None] = ContextVar("abandoned", default=None)
_noted: ContextVar[Threads | None] = ContextVar("noted", default=None)


class AbandonedError(Exception):
    """Nobody waits for this work any more. Nobody sees it either."""


def check_wanted() -> None:
    """Raise `AbandonedError` in a thread of `in_thread` whose result is no longer awaited."""
    abandoned = _abandoned.get()
    if abandoned is not None and abandoned.is_set():
        raise AbandonedError


@contextmanager
def noted_threads() -> Iterator[Threads]:
    """Note which threads `in_thread` runs within the block, also while they run on behind it."""
    threads: Threads = set()
    token = _noted.set(threads)
    try:
        yield threads
    finally:
        _noted.reset(token)


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread; if this is cancelled, `check_wanted` ends it."""
    abandoned = threading.Event()
    threads = _noted.get()

    def run() -> T:
        _abandoned.set(abandoned)  # in the context of this call
        check_wanted()  # it may have waited for a thread
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
