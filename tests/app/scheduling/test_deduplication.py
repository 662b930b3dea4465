"""Repeated sentences, through a scheduler."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import pytest

from app.errors import DeadlineExceededError, DrainingError, EngineFailedError, QueueFullError
from app.scheduling.fair_queue import Lane
from app.scheduling.requests import SETTLED_AT_A_TIME, Completion
from app.scheduling.scheduler import JOINED_AT_A_TIME, Scheduler
from model.decoding.hypothesis import Hypothesis
from tests.app.fake_engine import POISON, FakeEngine, gated, release
from tests.app.scheduling.harness import OPTIONS, FakeClock, running, sentence, submit, translate
from tests.app.waiting import settle, until

CACHE_BYTES = 1_000_000


def ids(completions: list[Completion]) -> list[tuple[int, ...]]:
    return [one.hypotheses[0].ids for one in completions]


def searched(engine: FakeEngine) -> list[int]:
    return list(chain.from_iterable(engine.admitted))


async def occupied(scheduler: Scheduler, name: int = 99) -> asyncio.Task[list[Completion]]:
    """Occupy the engine's only slot, so that later segments wait."""
    task = submit(scheduler, name)
    await until(lambda: scheduler.load.in_flight == 1)
    return task


async def test_repeated_sentences_are_answered_without_the_engine() -> None:
    engine = FakeEngine()
    async with running(engine, cache_bytes=CACHE_BYTES) as scheduler:
        first = await submit(scheduler, 11, 12)
        again = await submit(scheduler, 12, 14, 11)
    assert engine.admitted == [[11, 12], [14]]
    assert [one[-1] for one in ids(again)] == [12, 14, 11]
    assert again[0].hypotheses == first[1].hypotheses
    assert (again[0].queued, again[0].worked) == (0, 0)


async def test_without_cache_memory_every_sentence_is_searched() -> None:
    [engine] = engines = gated(1)
    async with running(engine, cache_bytes=0) as scheduler:
        tasks = [submit(scheduler, 11, 11), submit(scheduler, 11)]
        await until(lambda: scheduler.load.in_flight + scheduler.load.waiting == 3)
        release(engines)
        await asyncio.gather(*tasks)
        await submit(scheduler, 11)
    assert searched(engine) == [11] * 4


async def test_concurrent_requests_share_a_search() -> None:
    [engine] = engines = gated(1)
    async with running(engine, cache_bytes=CACHE_BYTES) as scheduler:
        first = await occupied(scheduler)
        tasks = [submit(scheduler, 11, 12, 11), submit(scheduler, 12, 14), submit(scheduler, 99)]
        await settle()
        assert scheduler.load.waiting == 3
        release(engines)
        answers = await asyncio.gather(first, *tasks)
    assert sorted(searched(engine)) == [11, 12, 14, 99]
    assert [[one[-1] for one in ids(answer)] for answer in answers] == [
        [99], [11, 12, 11], [12, 14], [99],
    ]  # fmt: skip


async def test_the_first_request_may_be_cancelled() -> None:
    engine = FakeEngine(n_steps=2, n_slots=1, gate=gated(1)[0].gate)
    async with running(engine, cache_bytes=CACHE_BYTES) as scheduler:
        first = submit(scheduler, 11, 12)
        await until(lambda: scheduler.load.in_flight == 1)
        others = [submit(scheduler, 11), submit(scheduler, 12)]
        await settle()
        first.cancel()
        await settle()
        engine.release()
        answers = await asyncio.gather(*others)
    assert [ids(answer)[0][-1] for answer in answers] == [11, 12]
    assert engine.cancelled == []
    assert engine.admitted == [[11], [12]]


async def test_an_abandoned_sentence_is_dropped_and_may_be_requested_again() -> None:
    engine = FakeEngine(n_steps=2, n_slots=1, gate=gated(1)[0].gate)
    async with running(engine, cache_bytes=CACHE_BYTES) as scheduler:
        leaving = [submit(scheduler, 11, 12), submit(scheduler, 12, 11)]
        await until(lambda: scheduler.load.in_flight == 1)
        for task in leaving:
            task.cancel()
        await settle()
        assert scheduler.load.waiting == 0
        repeated = submit(scheduler, 11)
        await settle()
        engine.release()
        assert ids(await repeated)[0][-1] == 11
    assert engine.cancelled == [11]
    assert engine.admitted == [[11], [11]]


async def test_errors_reach_all_waiting_requests_and_are_not_cached() -> None:
    [engine] = engines = gated(1)
    async with running(engine, cache_bytes=CACHE_BYTES) as scheduler:
        first = await occupied(scheduler)
        failing = [submit(scheduler, POISON, 12), submit(scheduler, POISON)]
        fine = submit(scheduler, 12)
        await settle()
        release(engines)
        outcomes = await asyncio.gather(*failing, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [EngineFailedError] * 2
        await asyncio.gather(first, fine)
        with pytest.raises(EngineFailedError):
            await submit(scheduler, POISON)
    assert searched(engine).count(POISON) == 2
    assert searched(engine).count(12) == 1


async def test_a_shared_search_runs_until_the_latest_deadline() -> None:
    clock = FakeClock()
    engine = FakeEngine(n_slots=1, gate=gated(1)[0].gate)
    async with running(engine, clock=clock, cache_bytes=CACHE_BYTES) as scheduler:
        first = await occupied(scheduler)
        hasty = submit(scheduler, 11, deadline=clock.now + 1)
        patient = submit(scheduler, 11, deadline=clock.now + 3)
        late = submit(scheduler, 12, deadline=clock.now + 1)
        await settle()
        clock.now += 2
        engine.release()
        await first
        with pytest.raises(DeadlineExceededError):
            await late
        assert ids(await patient) == ids(await hasty)


async def test_a_request_does_not_join_a_search_that_is_too_late() -> None:
    clock = FakeClock()
    engine = FakeEngine(n_slots=1, gate=gated(1)[0].gate)
    async with running(engine, clock=clock, cache_bytes=CACHE_BYTES) as scheduler:
        first = await occupied(scheduler)
        late = submit(scheduler, 11, deadline=clock.now + 1)
        await settle()
        clock.now += 2
        patient = submit(scheduler, 11, deadline=clock.now + 3)  # begins before the loop hears
        engine.release()
        while scheduler.load.waiting:  # that the engine refused the search
            time.sleep(0.001)
        assert ids(await patient)[0][-1] == 11
        with pytest.raises(DeadlineExceededError):
            await late
        await first


async def test_each_request_reports_its_own_waiting_time() -> None:
    clock = FakeClock()
    engine = FakeEngine(n_slots=1, gate=gated(1)[0].gate)
    async with running(engine, clock=clock, cache_bytes=CACHE_BYTES) as scheduler:
        blocking = await occupied(scheduler)
        first = submit(scheduler, 11)
        await settle()
        engine.in_step.clear()
        clock.now += 2
        second = submit(scheduler, 11)
        await settle()
        clock.now += 1
        engine.release(1)
        await blocking
        await asyncio.to_thread(engine.in_step.wait, 60)
        clock.now += 4
        third = submit(scheduler, 11)
        await settle()
        clock.now += 1
        engine.release(1)
        times = [(one.queued, one.worked) for [one] in await asyncio.gather(first, second, third)]
    assert times == [(3, 5), (1, 5), (0, 1)]


async def test_no_request_waits_for_the_other_lane() -> None:
    engine = FakeEngine(n_slots=1, gate=gated(1)[0].gate)
    async with running(engine, cache_bytes=CACHE_BYTES) as scheduler:

        def ask(lane: Lane) -> asyncio.Task[list[Completion]]:
            return asyncio.create_task(translate(scheduler, [sentence(11)], OPTIONS, lane=lane))

        first = await occupied(scheduler)
        tasks = [ask("bulk"), ask("interactive"), ask("bulk"), ask("interactive")]
        await settle()
        assert scheduler.load.waiting == 2
        engine.release()
        await asyncio.gather(first, *tasks)


async def test_a_stopping_scheduler_accepts_nothing_new() -> None:
    async with running(FakeEngine(), cache_bytes=CACHE_BYTES) as scheduler:
        await submit(scheduler, 11)
        await scheduler.stop()
        assert ids(await submit(scheduler, 11))[0][-1] == 11
        for _ in range(2):  # the first search was cancelled
            with pytest.raises(DrainingError):
                await submit(scheduler, 12)


@pytest.mark.parametrize("is_cached", [False, True])
async def test_a_thousand_equal_sentences_yield_to_others(is_cached: bool) -> None:
    """Queueing and settling its segments, cached or not, are spread over iterations of the loop."""
    n_ticks = 0
    settled_in: list[int] = []

    class Recorder:
        def agreed(self, index: int, ids: Sequence[int]) -> None: ...

        def settled(self, index: int, hypotheses: Sequence[Hypothesis]) -> None:
            settled_in.append(n_ticks)

    async def tick() -> None:
        nonlocal n_ticks
        while True:
            n_ticks += 1
            await asyncio.sleep(0)

    async with running(FakeEngine(), cache_bytes=CACHE_BYTES) as scheduler:
        if is_cached:
            await submit(scheduler, 11)
        ticking = asyncio.create_task(tick())
        await translate(scheduler, [sentence(11)] * 1000, OPTIONS, Recorder())
        ticking.cancel()
    assert len(settled_in) == 1000
    # One iteration may queue one portion and settle another.
    assert max(Counter(settled_in).values()) <= JOINED_AT_A_TIME + SETTLED_AT_A_TIME


async def test_cached_sentences_do_not_count_towards_a_full_queue() -> None:
    [engine] = gated(1)
    scheduler = Scheduler([engine], cache_bytes=CACHE_BYTES, max_queue_tokens=10)
    scheduler.start()
    first = submit(scheduler, 99)
    await until(lambda: scheduler.load.in_flight == 1)
    waiting = submit(scheduler, 11, 12)  # 6 tokens
    await until(lambda: scheduler.load.waiting == 2)
    joining = submit(scheduler, 11, 12, 16, 16)  # 3 tokens more
    await until(lambda: scheduler.load.waiting == 3)
    with pytest.raises(QueueFullError):
        await submit(scheduler, 14, 15)
    engine.release()
    await asyncio.gather(first, waiting, joining)
    await scheduler.stop()
