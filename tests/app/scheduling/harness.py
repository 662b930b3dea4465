"""A scheduler with fake engines."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from app.scheduling.requests import Completion, QueuedSegment, Request
from app.scheduling.scheduler import Scheduler
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.engine.protocol import Job
from tests.app.fake_engine import FakeEngine, release
from tests.app.waiting import until

OPTIONS = SearchOptions()
_ids = count()


class FakeClock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def running(
    *engines: FakeEngine, clock: FakeClock | None = None, **settings: Any
) -> AsyncIterator[Scheduler]:
    scheduler = Scheduler(engines, clock=clock or FakeClock(), **settings)
    scheduler.start()
    try:
        yield scheduler
    finally:
        release(engines)
        await scheduler.stop()


@asynccontextmanager
async def busy(
    engine: FakeEngine, name: int, clock: FakeClock | None = None
) -> AsyncIterator[tuple[Scheduler, asyncio.Task[list[Completion]]]]:
    """Run with a sentence in the engine, whose step waits at the gate."""
    async with running(engine, clock=clock) as scheduler:
        task = submit(scheduler, name)
        await until(engine.in_step.is_set)
        yield scheduler, task


def sentence(name: int, length: int = 3) -> list[int]:
    """Return control symbol, `name`, padding tokens and end."""
    return [2, name, *[9] * (length - 3), 0]


class Listener(Protocol):
    """Receives the results of sources by their index."""

    def agreed(self, index: int, ids: Sequence[int]) -> None: ...

    def settled(self, index: int, hypotheses: Sequence[Hypothesis]) -> None: ...


@dataclass
class Source:
    """A minimal segment, which may be settled once."""

    source_ids: Sequence[int]
    options: SearchOptions = OPTIONS
    index: int = 0
    listener: Listener | None = None
    hypotheses: list[Hypothesis] | None = None

    def agree(self, ids: Sequence[int]) -> None:
        assert self.hypotheses is None
        assert self.listener
        self.listener.agreed(self.index, ids)

    def settle(self, hypotheses: Sequence[Hypothesis]) -> None:
        assert self.hypotheses is None
        self.hypotheses = list(hypotheses)
        if self.listener:
            self.listener.settled(self.index, hypotheses)


async def translate(
    scheduler: Scheduler,
    sources: Sequence[Sequence[int]],
    options: SearchOptions,
    listener: Listener | None = None,
    **keywords: Any,
) -> list[Completion]:
    """Return the outcomes of the segments with the times of the request."""
    segments = [Source(ids, options, index, listener) for index, ids in enumerate(sources)]
    spent = await scheduler.search(segments, stream=listener is not None, **keywords)
    return [Completion(one.hypotheses or [], spent.queued, spent.worked) for one in segments]


def submit(
    scheduler: Scheduler, *names: int, length: int = 3, deadline: float = math.inf
) -> asyncio.Task[list[Completion]]:
    sources = [sentence(name, length) for name in names]
    return asyncio.create_task(translate(scheduler, sources, OPTIONS, deadline=deadline))


def new_request(n_segments: int) -> Request:
    """Return a request of segments with 5 tokens."""
    future = asyncio.get_running_loop().create_future()
    request = Request(submitted=0.0, deadline=math.inf, n_open=n_segments, future=future)
    for _ in range(n_segments):
        source = Source((1,) * 5)
        QueuedSegment(Job(next(_ids), (1,) * 5, OPTIONS), request).join(request, source)
    return request
