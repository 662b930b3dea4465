import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.decoding.beam import beam_search
from model.decoding.hypothesis import SearchOptions
from model.engine.eager import EagerEngine
from model.engine.protocol import Engine, Finished, Job
from model.engine.run import Item, run_jobs
from model.transformer.transformer import Transformer
from tests.app.fake_engine import DISASTER, POISON, FakeEngine, outcome

GREEDY = SearchOptions(beam_size=1)
REFUSED = 14


class Countdown(FakeEngine):
    """A job of n source tokens takes n steps; `seats` limits the jobs in flight.

    If it `lingers`, a step ends only when it is interrupted.
    """

    def __init__(self, *, seats: int = 4, lingers: bool = False, pause: float = 0.0) -> None:
        super().__init__()
        self.seats = seats
        self.lingers = lingers
        self.interrupted = threading.Event()
        self.pause = pause
        self.seen: list[int] = []
        self.most = 0
        self.threads: set[int] = set()

    def can_admit(self, job: Job) -> bool:
        return len(self._left) < self.seats

    def admit(self, jobs: Sequence[Job]) -> None:
        if any(REFUSED in job.source_ids for job in jobs):
            raise ValueError("refused")
        self._left |= {job.id: (job, len(job.source_ids)) for job in jobs}
        self.seen += [job.id for job in jobs]
        self.most = max(self.most, len(self._left))

    def cancel(self, job_ids: Sequence[int]) -> None:
        for job_id in job_ids:
            self._left.pop(job_id, None)

    def interrupt(self) -> None:
        self.interrupted.set()

    def step(self) -> list[Finished]:
        self.threads.add(threading.get_ident())
        time.sleep(self.pause)
        if self.lingers:
            assert self.interrupted.wait(timeout=60)
            self.interrupted.clear()
        return super().step()


def job(job_id: int, n_tokens: int = 3, first: int = 5) -> Job:
    return Job(job_id, (first, *[7] * (n_tokens - 1)), GREEDY)


def fakes(n: int, *, pause: float = 0.0) -> list[Countdown]:
    return [Countdown(pause=pause) for _ in range(n)]


def engine_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "engine"]


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    assert engine_threads() == []


@given(
    lengths=st.lists(st.integers(1, 9), max_size=40),
    n_engines=st.integers(1, 3),
    window=st.integers(1, 12),
)
def test_every_job_is_finished_once(lengths: list[int], n_engines: int, window: int) -> None:
    engines = fakes(n_engines)
    open_jobs: list[int] = []

    def jobs() -> Iterator[Job]:
        for index, n_tokens in enumerate(lengths):
            open_jobs.append(index)
            assert index - open_jobs[0] < window
            yield job(index, n_tokens)

    found: dict[int, object] = {}
    for job_id, result in run_jobs(engines, jobs(), window):
        open_jobs.remove(job_id)
        assert job_id not in found
        found[job_id] = result
    assert found == {index: outcome(job(index, n)) for index, n in enumerate(lengths)}
    assert all(engine.most <= engine.seats and not engine.busy for engine in engines)


def test_one_engine_works_in_the_callers_thread_and_several_in_their_own() -> None:
    (alone,) = fakes(1)
    assert len(list(run_jobs([alone], map(job, range(9))))) == 9
    assert alone.threads == {threading.get_ident()}
    engines = fakes(2)
    assert len(list(run_jobs(engines, map(job, range(9))))) == 9
    assert len(engines[0].threads | engines[1].threads | alone.threads) == 3


def test_the_work_is_spread_by_source_tokens() -> None:
    engines = fakes(2)
    lengths = [9, 3, 3, 3]
    list(run_jobs(engines, (job(index, n) for index, n in enumerate(lengths))))
    assert sorted(engine.seen for engine in engines) == [[0], [1, 2, 3]]


def test_jobs_join_as_soon_as_capacity_is_free() -> None:
    engine = Countdown(seats=2)
    lengths = [5, 1, 1, 1, 1]
    found = run_jobs([engine], (job(index, n) for index, n in enumerate(lengths)))
    assert [done.job_id for done in found] == [1, 2, 3, 4, 0]
    assert engine.most == 2


@pytest.mark.parametrize("n_engines", [1, 2])
def test_an_endless_source_is_read_no_further_than_the_window(n_engines: int) -> None:
    read = count()
    found = run_jobs(fakes(n_engines), (job(index) for index in read), window=10)
    first = list(islice(found, 50))
    assert len({done.job_id for done in first}) == 50
    found.close()
    assert next(read) <= 60


@pytest.mark.parametrize("n_engines", [1, 2])
def test_after_a_pause_no_item_is_read_before_all_outcomes_are_returned(n_engines: int) -> None:
    found: list[int] = []

    def items() -> Iterator[Item]:
        yield None
        for first in (0, 10, 20):
            assert len(found) == first
            yield from map(job, range(first, first + 10))
            yield None
            yield None

    for job_id, _ in run_jobs(fakes(n_engines), items()):
        found.append(job_id)
    assert len(found) == 30


@pytest.mark.parametrize("n_engines", [1, 2])
def test_finished_items_are_passed_on(n_engines: int) -> None:
    engines = fakes(n_engines)
    items: list[Item] = [Finished(0, []), job(1), Finished(2, []), job(3), Finished(4, [])]
    found = dict(run_jobs(engines, items))
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert found[2] == []
    assert sorted(job_id for engine in engines for job_id in engine.seen) == [1, 3]


@pytest.mark.parametrize("first", [POISON, REFUSED])
@pytest.mark.parametrize("n_engines", [1, 2])
def test_a_jobs_own_error_is_its_outcome(n_engines: int, first: int) -> None:
    jobs = [job(index, first=first if index == 3 else 5) for index in range(8)]
    found = dict(run_jobs(fakes(n_engines), jobs))
    assert isinstance(found.pop(3), ValueError)
    assert len(found) == 7
    assert all(isinstance(result, list) for result in found.values())


@pytest.mark.parametrize("n_engines", [1, 2])
def test_an_engines_error_is_raised_and_leaves_every_engine_empty(n_engines: int) -> None:
    engines = fakes(n_engines)
    jobs = (job(index, first=DISASTER if index == 20 else 5) for index in count())
    with pytest.raises(RuntimeError, match="disaster"):
        list(run_jobs(engines, jobs))
    assert not any(engine.busy for engine in engines)


@pytest.mark.parametrize("n_engines", [1, 2])
def test_an_error_of_the_source_comes_after_what_came_before(n_engines: int) -> None:
    def jobs() -> Iterator[Job]:
        yield from map(job, range(6))
        raise OSError("unreadable")

    found = run_jobs(fakes(n_engines), jobs())
    assert sorted(done.job_id for done in islice(found, 6)) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(OSError, match="unreadable"):
        next(found)


@pytest.mark.parametrize("n_engines", [1, 2])
def test_a_caller_that_stops_early_leaves_empty_engines(n_engines: int) -> None:
    engines = fakes(n_engines, pause=0.001)
    found = run_jobs(engines, (job(index, 1 + index % 5) for index in count()))
    assert next(found)
    assert any(engine.busy for engine in engines)
    found.close()
    assert not any(engine.busy for engine in engines)
    assert len(list(run_jobs(engines, map(job, range(5))))) == 5  # and usable ones


def test_a_lingering_engine_is_interrupted_for_new_jobs_and_at_the_end() -> None:
    engines = [Countdown(lingers=True), Countdown(lingers=True)]
    jobs = (job(index, 1) for index in count())
    found = run_jobs(engines, jobs, window=8)
    assert len(list(islice(found, 20))) == 20
    found.close()
    assert not any(engine.busy for engine in engines)


def test_no_thread_starts_before_the_first_outcome_is_requested() -> None:
    run_jobs(fakes(2), [job(0)])
    assert engine_threads() == []


def test_without_jobs_there_is_nothing_and_without_engines_an_error() -> None:
    assert list(run_jobs(fakes(1), [])) == []
    assert list(run_jobs(fakes(2), [])) == []
    with pytest.raises(ValueError, match="no engines"):
        list(run_jobs([], []))


@pytest.mark.parametrize("n_engines", [1, 2])
def test_answers_equal_the_references(
    make_model: Callable[..., Transformer], n_engines: int
) -> None:
    model = make_model(output_bias=True)
    engines: list[Engine] = [EagerEngine(model) for _ in range(n_engines)]
    jobs = [
        Job(index, (*range(3, 4 + index % 5), 1), SearchOptions(beam_size=1 + index % 2))
        for index in range(20)
    ]
    found = dict(run_jobs(engines, jobs, window=8))
    for one in jobs:
        (expected,) = beam_search(model, torch.tensor([one.source_ids]), one.options)
        result = found[one.id]
        assert isinstance(result, list)
        assert [best.ids for best in result] == [best.ids for best in expected]
