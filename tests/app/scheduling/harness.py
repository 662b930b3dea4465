"""A scheduler over fake engines, for the tests of it and of its parts."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import count

from app.scheduling.queue_items import Completion, Request, Sentence
from app.scheduling.scheduler import Scheduler
from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Job
from tests.app.fake_engine import FakeEngine

OPTIONS = SearchOptions()
_ids = count()


class FakeClock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def running(
    *engines: FakeEngine, clock: FakeClock | None = None, cache_bytes: int = 0
) -> AsyncIterator[Scheduler]:
    scheduler = Scheduler(engines, clock=clock or FakeClock(), cache_bytes=cache_bytes)
    scheduler.start()
    try:
        yield scheduler
    finally:
        release(engines)
        await scheduler.stop()


def gated(n_engines: int, n_steps: int = 1) -> list[FakeEngine]:
    return [FakeEngine(n_steps, gate=threading.Semaphore(0)) for _ in range(n_engines)]


def release(engines: Iterable[FakeEngine], n_steps: int = 1000) -> None:
    for engine in engines:
        if engine.gate:
            engine.gate.release(n_steps)


def sentence(name: int, length: int = 3) -> list[int]:
    """Control symbol, `name`, filling, end."""
    return [2, name, *[9] * (length - 3), 0]


def submit(
    scheduler: Scheduler, *names: int, length: int = 3, deadline: float = math.inf
) -> asyncio.Task[list[Completion]]:
    sources = [sentence(name, length) for name in names]
    return asyncio.create_task(scheduler.translate(sources, OPTIONS, deadline=deadline))


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def new_request(n_sentences: int) -> Request:
    """Of sentences with 5 tokens."""
    future = asyncio.get_running_loop().create_future()
    request = Request("interactive", None, 0.0, math.inf, n_sentences, future)
    for index in range(n_sentences):
        Sentence(Job(next(_ids), (1,) * 5, OPTIONS), request).join(request, index)
    return request
