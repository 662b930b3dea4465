"""Partial results that the scheduler passes on."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from app.errors import EngineFailedError
from app.scheduling.requests import Completion
from app.scheduling.scheduler import Scheduler
from model.decoding.hypothesis import Hypothesis
from model.engine.protocol import Progress
from tests.app.fake_engine import POISON, FakeEngine, gated, release
from tests.app.scheduling.harness import OPTIONS, running, sentence, translate
from tests.app.waiting import settle, until


@dataclass
class RecordingListener:
    progress: list[tuple[int, list[int]]] = field(default_factory=list)
    done: list[int] = field(default_factory=list)

    def agreed(self, index: int, ids: Sequence[int]) -> None:
        assert index not in self.done
        self.progress.append((index, list(ids)))

    def settled(self, index: int, hypotheses: Sequence[Hypothesis]) -> None:
        self.done.append(index)


def listen(
    scheduler: Scheduler, listener: RecordingListener, *names: int
) -> asyncio.Task[list[Completion]]:
    sources = [sentence(name, length=5) for name in names]
    return asyncio.create_task(translate(scheduler, sources, OPTIONS, listener=listener))


async def test_certain_tokens_are_streamed_before_the_end() -> None:
    listener = RecordingListener()
    async with running(FakeEngine(n_steps=3, steps_of={12: 2})) as scheduler:
        answers = await listen(scheduler, listener, 11, 12)
    assert [ids for index, ids in listener.progress if index == 0] == [[9], [9, 9]]
    assert [ids for index, ids in listener.progress if index == 1] == [[9]]
    assert listener.done == [1, 0]
    assert [one.hypotheses[0].ids for one in answers] == [(9, 9, 11), (9, 9, 12)]


async def test_nothing_is_streamed_without_a_listener() -> None:
    streams: list[bool] = []

    class RecordingEngine(FakeEngine):
        def progress(self) -> list[Progress]:
            streams.extend(job.stream for job, _ in self._left.values())
            return super().progress()

    async with running(RecordingEngine(n_steps=2)) as scheduler:
        await translate(scheduler, [sentence(11)], OPTIONS)
        await listen(scheduler, RecordingListener(), 11)
    assert streams == [False, True]


async def test_a_joining_listener_gets_all_certain_tokens_and_none_after_leaving() -> None:
    [engine] = engines = gated(1, n_steps=3)
    first, second, third = RecordingListener(), RecordingListener(), RecordingListener()
    async with running(engine, cache_bytes=1_000_000) as scheduler:
        leaving = listen(scheduler, first, 11)
        await until(lambda: scheduler.load.in_flight == 1)
        engine.release(1)
        await until(lambda: bool(first.progress))
        staying = listen(scheduler, second, 14, 11)
        await settle()
        leaving.cancel()
        await settle()
        release(engines)
        await staying
        assert [ids for index, ids in second.progress if index == 1] == [[9, 9]]
        assert first.progress == [(0, [9])]
        await listen(scheduler, third, 11)  # from the cache
    assert (third.progress, third.done) == ([], [0])


async def test_a_streaming_request_does_not_wait_for_one_that_does_not_stream() -> None:
    [engine] = engines = gated(1, n_steps=3)
    listener = RecordingListener()
    async with running(engine, cache_bytes=1_000_000) as scheduler:
        plain = asyncio.create_task(translate(scheduler, [sentence(11, 5)], OPTIONS))
        await until(lambda: scheduler.load.in_flight == 1)
        listening = listen(scheduler, listener, 11)
        await settle()
        release(engines)
        assert [one.hypotheses for one in await plain] == [
            one.hypotheses for one in await listening
        ]
    assert listener.progress


async def test_a_sentence_that_fails_is_not_completed() -> None:
    listener = RecordingListener()
    async with running(FakeEngine(n_steps=2)) as scheduler:
        with pytest.raises(EngineFailedError):
            await listen(scheduler, listener, POISON)
    assert listener.done == []
