import asyncio
import threading
from typing import Any

import numpy as np
import pytest

from app.errors import DrainingError, EngineDownError, EngineFailedError
from app.observe.metrics import Metrics
from app.scheduling.scheduler import Scheduler
from model.engine.protocol import Finished
from tests.app.fake_engine import POISON, FakeEngine, gated, release
from tests.app.scheduling.harness import (
    OPTIONS,
    FakeClock,
    busy,
    running,
    sentence,
    submit,
    translate,
)
from tests.app.waiting import settle, until


async def occupy(scheduler: Scheduler, engine: FakeEngine, name: int) -> asyncio.Task[Any]:
    """Submit a sentence and wait until it is in the engine, whose step waits at the gate."""
    task = submit(scheduler, name)
    await asyncio.to_thread(engine.in_step.wait, 60)
    return task


async def test_nothing_to_translate_is_answered_without_the_engine() -> None:
    engine = FakeEngine()
    async with running(engine) as scheduler:
        assert await translate(scheduler, [], OPTIONS) == []
    assert engine.admitted == []


async def test_a_batch_has_a_maximum_of_source_tokens_or_one_sentence() -> None:
    engine = FakeEngine(gate=threading.Semaphore(0))
    async with running(engine, max_batch_tokens=7) as scheduler:
        tasks = [submit(scheduler, 11, length=9), submit(scheduler, 12, 14, 15)]
        await settle()
        engine.release()
        await asyncio.gather(*tasks)
    assert engine.admitted == [[11], [12, 14], [15]]


async def test_sentences_join_a_busy_engine_between_its_steps() -> None:
    engine = FakeEngine(n_steps=3, gate=threading.Semaphore(0))
    async with busy(engine, 11) as (scheduler, first):
        second = submit(scheduler, 12)
        await settle()
        engine.release(3)
        await first
        assert engine.admitted == [[11], [12]]
        assert not second.done()
        engine.release(1)
        await second


@pytest.mark.parametrize(
    ("n_slots", "batches"),
    [(4, [[12, 14, 15, 16]]), (3, [[12, 14, 15], [16]]), (1, [[12], [14], [15], [16]])],
)
async def test_as_many_join_as_the_engine_admits(n_slots: int, batches: list[list[int]]) -> None:
    engine = FakeEngine(n_slots=n_slots, gate=threading.Semaphore(0))
    async with busy(engine, 11) as (scheduler, first):
        others = [submit(scheduler, name) for name in (12, 14, 15, 16)]
        await settle()
        engine.release(10)
        await asyncio.gather(first, *others)
    assert engine.admitted == [[11], *batches]


@pytest.mark.parametrize(
    ("seconds_for_three_tokens", "forecast"), [(0.001, 0.002), (6, 12), (3000, 6000)]
)
async def test_the_forecast_is_queued_work_at_current_speed(
    seconds_for_three_tokens: float, forecast: float
) -> None:
    clock = FakeClock()
    engine = FakeEngine(gate=threading.Semaphore(0))
    async with running(engine, clock=clock) as scheduler:
        first = await occupy(scheduler, engine, 11)
        engine.in_step.clear()
        clock.now += seconds_for_three_tokens
        engine.release(1)
        await first
        waiting = await occupy(scheduler, engine, 12)  # three tokens remain, in flight
        one_more = submit(scheduler, 14, length=1 + 2)
        one_more.cancel()  # not counted, since nobody waits for it
        await settle()
        last = submit(scheduler, 15, length=3)
        await settle()
        assert scheduler.forecast() == pytest.approx(forecast, rel=0.01)  # for six tokens
        engine.release(10)
        await asyncio.gather(waiting, last)


async def test_queue_and_work_are_timed_by_the_clock() -> None:
    clock = FakeClock()
    engine = FakeEngine(gate=threading.Semaphore(0))
    async with running(engine, clock=clock) as scheduler:
        first = await occupy(scheduler, engine, 11)
        second = submit(scheduler, 12)
        await settle()
        clock.now += 2
        engine.in_step.clear()
        engine.release(1)
        [done] = await first
        assert (done.queued, done.worked) == (0, 2)
        await asyncio.to_thread(engine.in_step.wait, 60)
        clock.now += 5
        engine.release(1)
        [done] = await second
        assert (done.queued, done.worked) == (2, 5)


async def test_cancelled_while_waiting_it_never_reaches_the_engine() -> None:
    engine = FakeEngine(gate=threading.Semaphore(0))
    async with busy(engine, 11) as (scheduler, first):
        second = submit(scheduler, 12, 14)
        await settle()
        second.cancel()
        await settle()
        engine.release(10)
        await first
        await submit(scheduler, 15)
    assert engine.admitted == [[11], [15]]


async def test_cancelled_in_flight_it_is_taken_out_of_the_engine_and_others_go_on() -> None:
    engine = FakeEngine(n_steps=2, gate=threading.Semaphore(0))
    async with busy(engine, 11) as (scheduler, doomed):
        other = submit(scheduler, 12)
        doomed.cancel()
        await settle()
        engine.release(10)
        [done] = await other
        assert done.hypotheses[0].ids == (12,)
    assert engine.cancelled == [11]


async def test_a_report_of_an_unknown_job_is_ignored() -> None:
    class UnknownJobEngine(FakeEngine):
        def step(self) -> list[Finished]:
            return [Finished(999, []), *super().step()]

    async with running(UnknownJobEngine()) as scheduler:
        await submit(scheduler, 11)
        await submit(scheduler, 12)
        assert scheduler.alive


async def test_explanations_run_between_the_steps_of_a_busy_engine() -> None:
    engine = FakeEngine(n_steps=3, gate=threading.Semaphore(0))
    async with busy(engine, 11) as (scheduler, first):
        explaining = asyncio.create_task(
            scheduler.explanations.explain([2, 11, 0], [11, 0], "cross")
        )
        await settle()
        engine.release(1)
        weights = await explaining
        scoring = asyncio.create_task(
            scheduler.explanations.score([([2, 11, 0], [11, 0])], OPTIONS)
        )
        await settle()
        engine.release(1)
        assert [one.shape for one in await scoring] == [(2,)]
        assert weights.shape == (2, 4, 2, 3)
        np.testing.assert_allclose(weights.sum(axis=-1), 1)
        assert not first.done()


async def test_a_failed_or_cancelled_explanation_affects_no_other_request() -> None:
    engine = FakeEngine(gate=threading.Semaphore(0))
    async with busy(engine, 11) as (scheduler, first):
        failing = asyncio.create_task(scheduler.explanations.explain([2, POISON, 0], [0], "cross"))
        given_up = asyncio.create_task(scheduler.explanations.explain([2, 11, 0], [0], "cross"))
        await settle()
        given_up.cancel()
        engine.release(10)
        with pytest.raises(EngineFailedError):
            await failing
        await first
        await submit(scheduler, 12)


async def test_stopping_finishes_submitted_requests_and_accepts_no_more() -> None:
    engine = FakeEngine(n_steps=2, n_slots=1, gate=threading.Semaphore(0))
    async with running(engine) as scheduler:
        submitted = [await occupy(scheduler, engine, 11), submit(scheduler, 12)]
        explaining = asyncio.create_task(scheduler.explanations.explain([2, 11, 0], [0], "cross"))
        await settle()
        stopping = asyncio.create_task(scheduler.stop())
        await settle()
        with pytest.raises(DrainingError):
            await translate(scheduler, [sentence(14)], OPTIONS)
        with pytest.raises(DrainingError):
            await scheduler.explanations.explain([2, 11, 0], [0], "cross")
        engine.release(10)
        await asyncio.gather(*submitted, explaining, stopping)
        assert not scheduler.alive


async def test_before_its_start_it_accepts_nothing() -> None:
    scheduler = Scheduler([FakeEngine()])
    with pytest.raises(EngineDownError):
        await translate(scheduler, [sentence(11)], OPTIONS)
    with pytest.raises(EngineDownError):
        await scheduler.explanations.explain([2, 11, 0], [0], "cross")


@pytest.mark.parametrize(
    ("n_engines", "n_sentences", "maximum"), [(2, 10, 5), (3, 10, 4), (4, 3, 1)]
)
async def test_a_burst_is_spread_evenly(n_engines: int, n_sentences: int, maximum: int) -> None:
    engines = gated(n_engines)
    async with running(*engines) as scheduler:
        task = submit(scheduler, *range(20, 20 + n_sentences))
        await until(lambda: scheduler.load.in_flight == n_sentences)
        release(engines)
        await task
    assert max(sum(map(len, engine.admitted)) for engine in engines) == maximum


async def test_a_busy_engine_leaves_a_new_request_to_an_idle_one() -> None:
    engines = gated(2, n_steps=3)
    async with running(*engines) as scheduler:
        first = submit(scheduler, 11)
        await until(lambda: scheduler.load.in_flight == 1)
        second = submit(scheduler, 12)
        await until(lambda: scheduler.load.in_flight == 2)
        release(engines)
        await asyncio.gather(first, second)
    assert sorted(engine.admitted for engine in engines) == [[[11]], [[12]]]


async def test_an_explanation_is_left_to_an_idle_engine() -> None:
    engines = gated(2)
    async with running(*engines) as scheduler:
        first = submit(scheduler, 11)
        await until(lambda: scheduler.load.in_flight == 1)
        await scheduler.explanations.explain([2, 11, 0], [0], "cross")  # although no step ended
        assert not first.done()
        release(engines)
        await first


async def test_lists_that_wait_do_not_delay_a_single_sentence() -> None:
    clock = FakeClock()
    engine = FakeEngine(gate=threading.Semaphore(0), n_slots=1)
    async with running(engine, clock=clock) as scheduler:
        first = await occupy(scheduler, engine, 11)
        engine.in_step.clear()
        clock.now += 3  # for three tokens
        engine.release(1)
        await first
        assert scheduler.forecast() == scheduler.delay() == 0
        held = await occupy(scheduler, engine, 12)
        bulk = asyncio.create_task(translate(scheduler, [[2, 14, 0]], OPTIONS, lane="bulk"))
        await settle()
        assert scheduler.forecast() == pytest.approx(6, rel=0.5)
        assert scheduler.delay() == 0
        single = submit(scheduler, 15)
        await settle()
        assert scheduler.delay() == pytest.approx(scheduler.forecast() / 3)
        engine.release(10)
        await asyncio.gather(held, bulk, single)
        assert scheduler.delay() == 0


def test_an_engine_that_wakes_after_the_loop_has_ended_stops_silently() -> None:
    [engine] = gated(1)
    metrics = Metrics()
    scheduler = Scheduler([engine], metrics=metrics)

    async def wedge() -> None:
        scheduler.start()
        task = await occupy(scheduler, engine, 11)
        await scheduler.stop(0.01)
        assert scheduler.load.in_flight == 1
        task.cancel()

    asyncio.run(wedge())
    engine.release()
    [thread] = scheduler._threads
    thread.join(10)  # an exception in the thread fails the test, see `filterwarnings`
    assert scheduler.load.engines == 0
    assert b'kind="thread-died"} 0.0' in metrics.exposition()[0]
