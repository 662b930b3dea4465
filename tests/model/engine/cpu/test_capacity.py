"""The capacity of an engine, measured by the jobs that it admits."""

from collections.abc import Callable

import pytest

from model.engine.cpu import capacity
from model.engine.cpu.capacity import MAX_ROWS, MAX_SENTENCES
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.forward.slots import MAX_BEAM, pages_needed
from model.engine.protocol import Job
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import advance, alone, check_empty, cpu_engine, run
from tests.model.engine.jobs import limited

pytestmark = pytest.mark.usefixtures("impatient")


@pytest.fixture
def many_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "MAX_PAGES", 10_000)


def fill(engine: CpuEngine, job: Callable[[int], Job]) -> int:
    n_jobs = 0
    while engine.can_admit(job(n_jobs)):
        engine.admit([job(n_jobs)])
        n_jobs += 1
    return n_jobs


@pytest.mark.parametrize("started", [False, True])
def test_the_number_of_sentences_is_limited(endless: Transformer, started: bool) -> None:
    engine = cpu_engine(endless, "int8")
    assert fill(engine, lambda n: limited(n, 40)) == MAX_SENTENCES
    if started:
        advance(engine)
    engine.cancel([5])
    assert fill(engine, lambda n: limited(100 + n, 40)) == 1
    engine.cancel(range(200))
    check_empty(engine)


@pytest.mark.usefixtures("many_pages")
@pytest.mark.parametrize("started", [False, True])
def test_the_number_of_hypotheses_is_limited(endless: Transformer, started: bool) -> None:
    engine = cpu_engine(endless, "int8")
    assert fill(engine, lambda n: limited(n, 40, beam=MAX_BEAM)) == MAX_ROWS // MAX_BEAM
    if started:
        advance(engine)
    assert not engine.can_admit(limited(100, 40))
    engine.cancel([5])
    assert fill(engine, lambda n: limited(100 + n, 40, beam=5)) == 6
    engine.cancel(range(200))
    check_empty(engine)


@pytest.mark.parametrize("limit", ["CACHE_BYTES", "MAX_PAGES"])
def test_pages_are_limited(
    endless: Transformer, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(capacity, limit, 0)
    engine = cpu_engine(endless, "int8")
    enough_for_one = pages_needed(40, MAX_BEAM, 40)
    jobs = {n: limited(n, 40, beam=3, source=(5,) * 33) for n in range(100)}
    n_fit = fill(engine, jobs.__getitem__)
    assert n_fit == enough_for_one // pages_needed(33, 3, 40)
    assert engine.can_admit(limited(100, 1))
    expected = alone(cpu_engine(endless, "int8"), list(jobs.values()))
    assert run(engine, (job for job in jobs.values() if job.id >= n_fit)) == expected
    check_empty(engine)
    engine.admit([limited(0, 40, beam=MAX_BEAM, source=(5,) * 40)])
    engine.step()
    check_empty(engine)


@pytest.mark.usefixtures("many_pages")
def test_jobs_beyond_the_capacity_are_refused(endless: Transformer) -> None:
    engine = cpu_engine(endless, "int8")
    with pytest.raises(ValueError, match="capacity"):
        engine.admit([limited(n, 40) for n in range(MAX_SENTENCES + 1)])
    check_empty(engine)
    fill(engine, lambda n: limited(n, 40, beam=MAX_BEAM))
    with pytest.raises(ValueError, match="capacity"):
        engine.admit([limited(100, 40)])
