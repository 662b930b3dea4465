"""Faults, deadlines and new requests in an engine's thread, seen through the scheduler."""

import asyncio
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from app.errors import DeadlineExceededError, EngineDownError, EngineFailedError
from app.scheduling.engine_state import BULK_ROWS, BULK_ROWS_IN_COMPANY, COMPANY_SECONDS
from app.scheduling.engine_thread import MAX_FAILURES, MAX_JOINING_TOKENS, MAX_RESTARTS
from app.scheduling.fair_queue import BULK_SHARE, Lane
from app.scheduling.requests import Completion
from app.scheduling.scheduler import Load, Scheduler
from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Finished, Job, Progress
from tests.app.fake_engine import COLLAPSE, DISASTER, POISON, FakeEngine, gated
from tests.app.scheduling.harness import FakeClock, running, sentence, submit, translate
from tests.app.waiting import settle, until


async def test_a_failure_outside_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine(n_steps=3)

    def fail() -> list[Progress]:
        raise RuntimeError("struck")

    async with running(engine) as scheduler:
        with monkeypatch.context() as patch:
            patch.setattr(engine, "progress", fail)
            with pytest.raises(EngineFailedError):
                await submit(scheduler, 11)
        assert engine.cancelled == [11]
        await submit(scheduler, 12)


async def test_a_request_that_failed_leaves_nothing_behind_waiting_or_in_flight() -> None:
    engine = FakeEngine(n_slots=2, gate=threading.Semaphore(0))
    engine.steps_of[11] = 5
    async with running(engine) as scheduler:
        failing = submit(scheduler, POISON, 11, 12)
        await until(lambda: scheduler.load.in_flight == 2)
        engine.release(1)
        with pytest.raises(EngineFailedError):
            await failing
        engine.release()
        await submit(scheduler, 14)
        assert scheduler.load == Load(0, 0, 0, 0, engines=1)
    assert 11 in engine.cancelled


async def test_a_batch_that_failed_leaves_a_line_in_the_log() -> None:
    [engine] = gated(1)
    async with running(engine) as scheduler:
        held = submit(scheduler, 11)
        await until(lambda: scheduler.load.in_flight == 1)
        disaster, beside = submit(scheduler, DISASTER), submit(scheduler, 12)
        await settle()
        with capture_logs() as logged:
            engine.release()
            await asyncio.wait([held, disaster, beside])
    assert isinstance(disaster.exception(), EngineFailedError)
    assert held.result()
    assert beside.result()
    [line] = [line for line in logged if line["event"] == "failure"]
    assert line["causes"][0]["type"] == "RuntimeError"


async def test_failures_in_a_row_take_an_engine_down_and_with_the_last_the_service() -> None:
    async with running(FakeEngine()) as scheduler:
        for _ in range(MAX_FAILURES):
            assert scheduler.alive
            with pytest.raises(EngineFailedError):
                await submit(scheduler, DISASTER)
        await until(lambda: not scheduler.alive)
        with pytest.raises(EngineDownError):
            await submit(scheduler, 11)
        with pytest.raises(EngineDownError):
            await scheduler.explanations.explain([2, 11, 0], [0], "cross")


async def test_one_success_between_failures_keeps_the_engine_up() -> None:
    async with running(FakeEngine()) as scheduler:
        for _ in range(2):
            for _ in range(MAX_FAILURES - 1):
                with pytest.raises(EngineFailedError):
                    await submit(scheduler, DISASTER)
            await submit(scheduler, 11)
        assert scheduler.alive


async def test_outcomes_that_are_errors_do_not_take_an_engine_down() -> None:
    async with running(FakeEngine()) as scheduler:
        for _ in range(MAX_FAILURES + 1):
            with pytest.raises(EngineFailedError):
                await submit(scheduler, POISON)
        await submit(scheduler, 11)


async def test_requests_that_wait_for_a_failing_engine_are_answered() -> None:
    engine = FakeEngine(n_slots=1, gate=threading.Semaphore(0))
    async with running(engine) as scheduler:
        tasks = [submit(scheduler, DISASTER) for _ in range(MAX_FAILURES + 3)]
        await until(lambda: scheduler.load.in_flight == 1)
        explaining = asyncio.create_task(scheduler.explanations.explain([2, 11, 0], [0], "cross"))
        await settle()
        engine.release()
        await asyncio.wait([*tasks, explaining])
        failures = [type(task.exception()) for task in tasks]
        assert failures == [EngineFailedError] * MAX_FAILURES + [EngineDownError] * 3
        assert isinstance(
            explaining.exception(), EngineDownError
        )  # it was behind them in the queue


@pytest.mark.parametrize("n_waiting", [0, 2])
async def test_an_explanation_without_an_engine_to_run_it_fails(n_waiting: int) -> None:
    engine = FakeEngine(gate=threading.Semaphore(0))
    async with running(engine) as scheduler:
        for _ in range(MAX_RESTARTS):
            first = submit(scheduler, COLLAPSE)
            engine.release(1)
            await asyncio.wait([first])
        engine.in_step.clear()
        lost = submit(scheduler, COLLAPSE)
        await until(lambda: scheduler.load.in_flight == 1)
        await asyncio.to_thread(engine.in_step.wait, 60)
        explaining = asyncio.create_task(scheduler.explanations.explain([2, 11, 0], [0], "cross"))
        waiting = [submit(scheduler, 11) for _ in range(n_waiting)]
        await settle()
        engine.release()
        await asyncio.wait([lost, explaining, *waiting])
        for task in (lost, explaining, *waiting):
            assert isinstance(task.exception(), EngineDownError)
        assert scheduler.load == Load(0, 0, 0, 0, engines=0)


async def test_with_one_engine_down_the_others_do_its_work() -> None:
    engines = gated(2)
    async with running(*engines) as scheduler:
        held = submit(scheduler, 11)
        await until(lambda: any(engine.in_step.is_set() for engine in engines))
        [sound] = [engine for engine in engines if engine.in_step.is_set()]
        [doomed] = [engine for engine in engines if engine is not sound]
        doomed.release()
        for _ in range(MAX_FAILURES):
            with pytest.raises(EngineFailedError):
                await submit(scheduler, DISASTER)
        await until(lambda: scheduler.load.engines == 1)
        assert scheduler.alive
        other = submit(scheduler, 12)
        sound.release()
        await asyncio.gather(held, other)


@pytest.mark.parametrize("method", ["can_admit", "cancel"])
async def test_an_exception_of_any_method_is_one_of_the_engine(method: str) -> None:
    class Faulty(FakeEngine):
        armed = False

        def fail(self, where: str) -> None:
            if self.armed and where == method:
                self.armed = False
                self._left.clear()
                raise MemoryError

        def can_admit(self, job: Job) -> bool:
            self.fail("can_admit")
            return super().can_admit(job)

        def cancel(self, job_ids: Sequence[int]) -> None:
            self.fail("cancel")
            super().cancel(job_ids)

    engine = Faulty(n_steps=2, gate=threading.Semaphore(0))
    async with running(engine) as scheduler:
        first, cancelled = submit(scheduler, 11), submit(scheduler, 12)
        await until(lambda: scheduler.load.in_flight == 2)
        cancelled.cancel()
        joining = submit(scheduler, 14)
        await settle()
        engine.armed = True
        engine.release()
        with pytest.raises(EngineFailedError) as failure:
            await first
        assert isinstance(failure.value.__cause__, MemoryError)
        await asyncio.gather(joining, submit(scheduler, 15))
        assert scheduler.load == Load(0, 0, 0, 0, engines=1)


async def test_a_job_that_an_engine_refuses_fails_its_request_alone() -> None:
    class RefusingEngine(FakeEngine):
        def admit(self, jobs: Sequence[Job]) -> None:
            if POISON in jobs[0].source_ids:
                raise ValueError("not of this kind")
            super().admit(jobs)

    engine = RefusingEngine(n_steps=2, gate=threading.Semaphore(0))
    async with running(engine) as scheduler:
        first = submit(scheduler, 11)
        await until(lambda: scheduler.load.in_flight == 1)
        refused = [submit(scheduler, POISON) for _ in range(MAX_FAILURES)]
        joining = submit(scheduler, 12)
        await settle()
        engine.release()
        await asyncio.wait(refused)
        assert {type(one.exception()) for one in refused} == {EngineFailedError}
        await asyncio.gather(first, joining)
        assert scheduler.load == Load(0, 0, 0, 0, engines=1)


async def test_a_sentence_whose_deadline_has_passed_never_enters_the_engine() -> None:
    clock = FakeClock()
    engine = FakeEngine(gate=threading.Semaphore(0))
    async with running(engine, clock=clock) as scheduler:
        first = submit(scheduler, 11)
        await until(lambda: scheduler.load.in_flight == 1)
        deadline = clock.now + 5
        late = submit(scheduler, 12, 14, deadline=deadline)
        in_time = submit(scheduler, 15, deadline=deadline + 0.1)
        await settle()
        clock.now = deadline
        engine.release()
        with pytest.raises(DeadlineExceededError):
            await late
        await asyncio.gather(first, in_time)
    assert engine.admitted == [[11], [15]]


async def test_new_jobs_delay_those_in_flight_by_a_bounded_number_of_tokens() -> None:
    engine = FakeEngine(n_steps=9, gate=threading.Semaphore(0))
    half = MAX_JOINING_TOKENS // 2
    async with running(engine) as scheduler:
        first = submit(scheduler, 11)
        await until(lambda: scheduler.load.in_flight == 1)
        others = [submit(scheduler, name, length=half) for name in (12, 14, 15)]
        others.append(submit(scheduler, 16, length=2 * MAX_JOINING_TOKENS))
        await settle()
        engine.release()
        await asyncio.gather(first, *others)
    assert engine.admitted == [[11], [12, 14], [15], [16]]


async def test_any_number_of_tokens_joins_an_idle_engine() -> None:
    engine = FakeEngine()
    async with running(engine) as scheduler:
        await submit(scheduler, 11, 12, 14, length=MAX_JOINING_TOKENS)
    assert engine.admitted == [[11, 12, 14]]


@dataclass
class FlakyEngine(FakeEngine):
    """Fails steps and sentences at random; a sentence takes a random number of steps."""

    chance: random.Random = field(default_factory=random.Random)

    def can_admit(self, job: Job) -> bool:
        return super().can_admit(job) and self.chance.random() < 0.8

    def admit(self, jobs: Sequence[Job]) -> None:
        self.n_steps = self.chance.randint(1, 6)
        super().admit(jobs)

    def step(self) -> list[Finished]:
        if self.chance.random() < 0.03:
            self._left.clear()
            raise RuntimeError("struck")
        return [
            Finished(done.job_id, ValueError("hit")) if self.chance.random() < 0.05 else done
            for done in super().step()
        ]


@pytest.mark.parametrize("seed", range(8))
async def test_every_request_gets_its_own_answer_or_an_error(seed: int) -> None:
    chance = random.Random(seed)
    engines = [
        FlakyEngine(n_slots=chance.randint(1, 5), chance=random.Random(10 * seed + index))
        for index in range(1 + seed % 3)
    ]
    clock = FakeClock()
    outcomes: list[str] = []

    async def client(scheduler: Scheduler, first_name: int) -> None:
        names = range(first_name, first_name + chance.randint(1, 6))
        sources = [[2, name, *[9] * chance.randint(0, 60), 0] for name in names]
        lane: Lane = "bulk" if len(sources) > 3 else "interactive"
        await asyncio.sleep(chance.random() / 50)
        deadline = clock.now + 10
        answer = asyncio.create_task(
            translate(
                scheduler,
                sources,
                SearchOptions(),
                lane=lane,
                client=chance.choice([None, "a", "b"]),
                deadline=deadline - (9.99 if chance.random() < 0.1 else 0),
            )
        )
        await asyncio.sleep(0)
        clock.now += 0.01
        if chance.random() < 0.2:
            await asyncio.sleep(chance.choice([0, chance.random() / 200]))
            answer.cancel()
        outcomes.append(_outcome(await asyncio.wait([answer]), sources))

    def _outcome(
        waited: tuple[set[asyncio.Task[list[Completion]]], object], sources: list[list[int]]
    ) -> str:
        [task] = waited[0]
        if task.cancelled():
            return "cancelled"
        if error := task.exception():
            assert isinstance(error, EngineFailedError | DeadlineExceededError)
            return type(error).__name__
        answers = [list(done.hypotheses[0].ids) for done in task.result()]
        assert answers == [source[-2:0:-1] for source in sources]
        return "answered"

    async with running(*engines, clock=clock) as scheduler:
        await asyncio.gather(*(client(scheduler, 1000 + 10 * index) for index in range(150)))
        await until(lambda: not scheduler.load.in_flight)
        assert scheduler.load == Load(0, 0, 0, 0, engines=len(engines))
    assert len(outcomes) == 150
    assert set(outcomes) == {
        "answered", "cancelled", "EngineFailedError", "DeadlineExceededError",
    }  # fmt: skip


@pytest.mark.parametrize("beam_size", [1, 4])
async def test_the_bulk_lane_leaves_capacity_for_the_other(beam_size: int) -> None:
    [engine] = gated(1)
    n_bulk = BULK_ROWS // beam_size
    options = SearchOptions(beam_size)
    async with running(engine) as scheduler:
        sources = [sentence(name) for name in range(1000, 1000 + 2 * n_bulk)]
        bulk = asyncio.create_task(translate(scheduler, sources, options, lane="bulk"))
        await until(lambda: scheduler.load.in_flight == n_bulk)
        single = submit(scheduler, 11)
        await settle()
        engine.release()
        await asyncio.gather(bulk, single)
    n_beside = BULK_ROWS_IN_COMPANY // beam_size
    assert [len(names) for names in engine.admitted[:2]] == [n_bulk, 1 + n_beside]
    assert engine.admitted[1][0] == 11


async def test_a_list_with_its_share_does_not_delay_single_sentences() -> None:
    [engine] = gated(1, n_steps=2)
    async with running(engine) as scheduler:
        sources = [sentence(name) for name in range(1000, 1000 + 2 * BULK_ROWS)]
        bulk = asyncio.create_task(translate(scheduler, sources, SearchOptions(1), lane="bulk"))
        await until(lambda: scheduler.load.in_flight == BULK_ROWS)
        singles = [submit(scheduler, name) for name in range(100, 100 + 2 * BULK_SHARE)]
        await settle()
        engine.gate.release()  # type: ignore[union-attr]
        await until(lambda: len(engine.admitted) == 2)
        engine.release()
        await asyncio.gather(bulk, *singles)
    assert engine.admitted[1] == list(range(100, 100 + 2 * BULK_SHARE))


async def test_it_leaves_more_while_single_sentences_come() -> None:
    [engine] = gated(1)
    clock = FakeClock()
    async with running(engine, clock=clock) as scheduler:
        first = submit(scheduler, 11)
        await until(lambda: scheduler.load.in_flight == 1)
        sources = [sentence(name) for name in range(1000, 1000 + 3 * BULK_ROWS)]
        bulk = asyncio.create_task(translate(scheduler, sources, SearchOptions(1), lane="bulk"))
        await settle()
        engine.release(1)
        await first
        await until(lambda: scheduler.load.in_flight == BULK_ROWS_IN_COMPANY)
        clock.now += COMPANY_SECONDS
        engine.release()
        await bulk
    assert [len(names) for names in engine.admitted[1:3]] == [BULK_ROWS_IN_COMPANY, BULK_ROWS]
