"""Every kind of engine failure, and its effect on requests and the service."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from app.errors import EngineDownError, EngineFailedError
from app.scheduling import engine_thread
from app.scheduling.scheduler import Load
from model.decoding.hypothesis import Hypothesis
from model.engine.protocol import Finished
from model.errors import NumericalError
from tests.app.fake_engine import COLLAPSE, DISASTER, FakeEngine
from tests.app.observe.test_metrics import collected, of
from tests.app.scheduling.harness import OPTIONS, busy, running, submit, translate
from tests.app.waiting import settle, until

IDLE = Load(0, 0, 0, 0, engines=1)


@dataclass
class SmallEngine(FakeEngine):
    """Has memory for a number of source tokens but admits more."""

    room_in_memory: int = 20
    n_most: int = 0

    def step(self) -> list[Finished]:
        n_tokens = sum(len(job.source_ids) for job, _ in self._left.values())
        if n_tokens > self.room_in_memory:
            self._left.clear()
            raise MemoryError
        self.n_most = max(self.n_most, n_tokens)
        return super().step()


@dataclass
class NanEngine(FakeEngine):
    """Fails sentences with this name."""

    name: int = 13

    def step(self) -> list[Finished]:
        names = {job.id: job.source_ids[1] for job, _ in self._left.values()}
        return [
            Finished(done.job_id, NumericalError("not finite"))
            if names[done.job_id] == self.name
            else done
            for done in super().step()
        ]


@pytest.mark.parametrize("place", [0, 5, 31])
async def test_a_poisoned_sentence_fails_alone_and_the_others_answer_as_ever(place: int) -> None:
    names = list(range(1000, 1032))
    async with running(FakeEngine()) as scheduler:
        clean = await asyncio.gather(*(submit(scheduler, name) for name in names))
    engine = FakeEngine(n_steps=2, gate=threading.Semaphore(0))
    async with running(engine) as scheduler:
        first = submit(scheduler, 1)  # so that the others join together
        await until(engine.in_step.is_set)
        poisoned = [*names[:place], DISASTER, *names[place:]]
        tasks = {name: submit(scheduler, name) for name in poisoned}
        await settle()
        engine.release()
        await asyncio.wait([first, *tasks.values()])
        assert isinstance(tasks.pop(DISASTER).exception(), EngineFailedError)
        answers = [task.result()[0].hypotheses for task in tasks.values()]
        assert answers == [completion.hypotheses for [completion] in clean]
        assert first.exception() is None
        assert scheduler.load == IDLE
        failures = of(
            collected(scheduler.metrics), "attend_engine_failures_total", kind="exception"
        )
        assert failures <= 2 + 5  # one per bisection


async def test_several_poisoned_sentences_are_each_found(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine(gate=threading.Semaphore(0))
    async with busy(engine, 1) as (scheduler, first):
        names = [11, DISASTER, 12, 14, DISASTER, 15, DISASTER]
        tasks = [submit(scheduler, name) for name in names]
        later = submit(scheduler, 16)
        await settle()
        engine.release()
        await asyncio.wait([first, later, *tasks])
        failed = [isinstance(task.exception(), EngineFailedError) for task in tasks]
        assert failed == [name == DISASTER for name in names]
        assert later.exception() is None
        assert scheduler.load == IDLE


async def test_new_jobs_wait_until_the_suspects_are_tried_except_cancelled_ones() -> None:
    engine = FakeEngine(gate=threading.Semaphore(0))
    async with busy(engine, 1) as (scheduler, first):
        tasks = {name: submit(scheduler, name) for name in (11, DISASTER, 12, 14)}
        await settle()
        engine.release(2)  # the first, and the failure of the four
        await until(lambda: len(engine.admitted) == 3)
        newcomer = submit(scheduler, 15)
        tasks.pop(14).cancel()
        await settle()
        engine.release()
        await asyncio.wait([newcomer, *tasks.values()])
        await first
    assert engine.admitted[1:] == [
        [11, DISASTER, 12, 14], [11, DISASTER], [11], [DISASTER], [12], [15],
    ]  # fmt: skip


async def test_out_of_memory_splits_the_batch_and_is_remembered() -> None:
    engine = SmallEngine(gate=threading.Semaphore(0))
    async with busy(engine, 1) as (scheduler, first):
        tasks = [submit(scheduler, name, length=4) for name in range(20, 32)]
        await settle()
        engine.release()
        await asyncio.gather(first, *tasks)
        series = collected(scheduler.metrics)
        n_failures = of(series, "attend_engine_failures_total", kind="out-of-memory")
        assert n_failures >= 1
        n_admitted = len(engine.admitted)
        assert engine.n_most <= engine.room_in_memory
        await asyncio.gather(*(submit(scheduler, name, length=4) for name in range(20, 32)))
        later = engine.admitted[n_admitted:]
        assert sum(map(len, later)) == 12
        assert max(map(len, later)) * 4 <= engine.room_in_memory
        series = collected(scheduler.metrics)
        assert of(series, "attend_engine_failures_total", kind="out-of-memory") == n_failures


async def test_a_sentence_for_which_there_is_no_memory_fails_alone() -> None:
    engine = SmallEngine()
    async with running(engine) as scheduler:
        with pytest.raises(EngineFailedError) as failure:
            await submit(scheduler, 11, length=21)
        assert isinstance(failure.value.__cause__, MemoryError)
        await asyncio.gather(submit(scheduler, 12), submit(scheduler, 14, length=20))


async def test_numbers_that_are_not_finite_fail_their_request_alone() -> None:
    engine = NanEngine(gate=threading.Semaphore(0))
    async with running(engine) as scheduler:
        tasks = {name: submit(scheduler, name) for name in (11, 13, 12)}
        engine.release()
        await asyncio.wait(tasks.values())
        failure = tasks.pop(13).exception()
        assert isinstance(failure, EngineFailedError)
        assert isinstance(failure.__cause__, NumericalError)
        assert {task.exception() for task in tasks.values()} == {None}
        series = collected(scheduler.metrics)
        assert of(series, "attend_engine_failures_total", kind="not-finite") == 1


async def test_a_thread_that_dies_loses_jobs_in_flight_and_is_restarted_once() -> None:
    engine = FakeEngine(gate=threading.Semaphore(0), n_slots=2)
    async with running(engine) as scheduler:
        lost = [submit(scheduler, 11), submit(scheduler, COLLAPSE)]
        await until(lambda: scheduler.load.in_flight == 2)
        waiting = submit(scheduler, 12)
        await settle()
        engine.release()
        await asyncio.wait([*lost, waiting])
        for task in lost:
            assert isinstance(task.exception(), EngineFailedError)
        assert waiting.exception() is None
        assert scheduler.alive
        series = collected(scheduler.metrics)
        assert of(series, "attend_engine_restarts_total") == 1
        again = submit(scheduler, COLLAPSE)
        await asyncio.wait([again])
        assert isinstance(again.exception(), EngineDownError)
        assert not scheduler.alive
        assert scheduler.load == Load(0, 0, 0, 0, engines=0)
        series = collected(scheduler.metrics)
        assert of(series, "attend_engine_restarts_total") == 1
        assert of(series, "attend_engine_failures_total", kind="thread-died") == 2


async def test_an_internal_error_of_the_thread_is_the_cause_of_the_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    struck = iter([True])

    def faulty(*_: object) -> None:
        if next(struck, False):
            raise ZeroDivisionError

    monkeypatch.setattr(engine_thread.EngineThread, "_progress_updates", faulty)
    async with running(FakeEngine(n_steps=2)) as scheduler:
        with pytest.raises(EngineFailedError) as failure:
            await submit(scheduler, 11)
        assert isinstance(failure.value.__cause__, ZeroDivisionError)
        await submit(scheduler, 12)
        assert scheduler.load == IDLE


async def test_an_engine_that_fails_to_cancel_fails_all_jobs_and_continues() -> None:
    @dataclass
    class UncancellableEngine(FakeEngine):
        refusals: list[str] = field(default_factory=lambda: ["no"])

        def cancel(self, job_ids: Sequence[int]) -> None:
            if self.refusals and len(job_ids) > 1:
                raise RuntimeError(self.refusals.pop())
            super().cancel(job_ids)

    engine = UncancellableEngine(gate=threading.Semaphore(0))
    async with busy(engine, 1) as (scheduler, first):
        tasks = [submit(scheduler, name) for name in (11, DISASTER)]
        await settle()
        engine.release()
        await asyncio.wait([first, *tasks])
        assert {type(task.exception()) for task in tasks} == {EngineFailedError}
        await submit(scheduler, 12)
        assert scheduler.load == IDLE


async def test_a_sentence_that_is_retried_streams_no_token_twice() -> None:
    streamed: list[list[int]] = []

    class Recorder:
        def agreed(self, index: int, ids: Sequence[int]) -> None:
            streamed.append(list(ids))

        def settled(self, index: int, hypotheses: Sequence[Hypothesis]) -> None:
            streamed.append(list(hypotheses[0].ids))

    engine = FakeEngine(n_steps=4, gate=threading.Semaphore(0))
    async with running(engine) as scheduler:
        source = [2, 11, 12, 14, 15, 0]
        followed = asyncio.create_task(translate(scheduler, [source], OPTIONS, listener=Recorder()))
        await until(engine.in_step.is_set)
        engine.release(2)
        await until(lambda: len(streamed) == 2)
        poisoned = submit(scheduler, DISASTER)
        await settle()
        engine.release()
        await asyncio.wait([followed, poisoned])
        assert isinstance(poisoned.exception(), EngineFailedError)
        assert followed.exception() is None
    answer = source[-2:0:-1]
    assert streamed == [answer[:1], answer[:2], answer[:3], answer]
