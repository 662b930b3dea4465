"""Ends work in threads once nobody waits for it: the client left, or the deadline passed.

A thread cannot be cancelled, so long work calls `check_abandoned` in its loops.
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
"""Running threads; each future is done when its thread has ended."""

_abandoned: ContextVar[threading.Event | None] = ContextVar("abandoned", default=None)
_tracked: ContextVar[Threads | None] = ContextVar("tracked", default=None)


class AbandonedError(Exception):
    """Nobody waits for the result of this work; nobody receives the error either."""


def check_abandoned() -> None:
    """Raise `AbandonedError` in a thread of `in_thread` whose result is no longer awaited."""
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
