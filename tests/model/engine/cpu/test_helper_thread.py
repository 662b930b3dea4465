import gc
import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from model.decoding.constraints import Constraint, Wording
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.forward.weights import Precision
from model.engine.cpu.helper_thread import BUSY_ENGINES
from model.engine.cpu.kernels.work_queue import is_open
from model.engine.protocol import Job
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import cpu_engine, pack_model, run
from tests.model.engine.jobs import PRECISIONS, draw_jobs, limited
from tests.model.make_model import MakeModel


@pytest.fixture(autouse=True)
def _no_other_engine_has_work() -> Iterator[None]:
    """Collect engines that other tests left with jobs."""
    gc.collect()
    assert BUSY_ENGINES.count[0] == 0
    yield
    gc.collect()
    assert BUSY_ENGINES.count[0] == 0


@pytest.fixture(scope="module")
def large(make_model: MakeModel) -> Transformer:
    """A model whose output projection and feed-forward network are large enough for two threads."""
    return make_model(d_model=64, d_ff=4200, source_vocab_size=4300, target_vocab_size=4300)


def one_of_two(model: Transformer, precision: Precision = "int8") -> CpuEngine:
    return CpuEngine(model.config, pack_model(model, precision), n_threads=2)


def helpers() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name.startswith("helper")}


@PRECISIONS
def test_answers_equal_those_of_an_engine_alone(large: Transformer, precision: Precision) -> None:
    jobs = draw_jobs(large, 30, seed=1)
    terms = (Constraint((Wording((5, 6)),)),)
    jobs += [
        replace(job, id=100 + job.id, options=replace(job.options, constraints=terms))
        for job in jobs[:10]
    ]
    alone, shared = cpu_engine(large, precision), one_of_two(large, precision)
    for some in ([job] for job in jobs):
        assert run(shared, some) == run(alone, some)
    assert run(shared, jobs) == run(alone, jobs)
    assert len(helpers()) == 1


def test_a_stream_is_the_same(large: Transformer) -> None:
    job = replace(draw_jobs(large, 1, seed=3)[0], stream=True)
    streams = []
    for engine in (cpu_engine(large, "int8"), one_of_two(large)):
        engine.admit([job])
        steps = []
        while engine.busy:
            finished = engine.step()
            steps.append((engine.progress(), finished))
        streams.append(steps)
    assert streams[0] == streams[1]


def test_between_steps_nothing_is_shared(large: Transformer) -> None:
    engine = one_of_two(large)
    engine.admit([limited(0, 3, beam=2)])
    engine.interrupt()
    engine.step()
    queue = engine._work.scratch.queue
    assert not is_open(queue)
    expected = cpu_engine(large, "int8").explain((3, 1), (4, 1), "cross")
    np.testing.assert_array_equal(engine.explain((3, 1), (4, 1), "cross"), expected)
    assert not is_open(queue)


def test_no_helper_starts_while_the_other_engine_has_work(large: Transformer) -> None:
    engine, other = one_of_two(large), one_of_two(large)
    before = helpers()
    other.admit([limited(0, 3)])
    engine.admit([limited(0, 3)])
    while engine.busy:
        engine.step()
    assert helpers() == before
    other.cancel([0])
    engine.admit([limited(1, 3)])
    while engine.busy:
        engine.step()
    assert len(helpers()) == len(before) + 1


def test_the_helper_detaches_when_the_other_engine_gets_work(large: Transformer) -> None:
    engine, other = one_of_two(large), one_of_two(large)
    engine.admit([limited(0, 30)])
    engine._helper.attach(engine._work.scratch)
    assert is_open(engine._helper.queue)
    other.admit([limited(0, 3)])
    engine.step()
    assert not is_open(engine._helper.queue)
    engine.cancel([0])
    other.cancel([0])


def test_the_thread_ends_with_the_engine(large: Transformer) -> None:
    before = helpers()
    engine = one_of_two(large)
    run(engine, [limited(0, 3)])
    [thread] = helpers() - before
    del engine
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()


def test_a_deleted_engine_with_jobs_is_not_busy(large: Transformer) -> None:
    engine = one_of_two(large)
    engine.admit([limited(0, 3)])
    assert BUSY_ENGINES.count[0] == 1
    del engine
    gc.collect()
    assert BUSY_ENGINES.count[0] == 0


def test_failed_steps_detach_the_helper(
    large: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = one_of_two(large)
    engine.admit([limited(0, 3)])
    monkeypatch.setattr("model.engine.cpu.search.run", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        engine.step()
    assert not is_open(engine._helper.queue)
    assert not engine.busy


@pytest.mark.parametrize(("n_threads", "is_large"), [(1, True), (2, False)])
def test_one_thread_or_a_small_model_has_no_helper(
    large: Transformer, model: Transformer, n_threads: int, is_large: bool
) -> None:
    of = large if is_large else model
    before = helpers()
    engine = CpuEngine(of.config, pack_model(of, "int8"), n_threads=n_threads)
    run(engine, [Job(0, (3, of.config.eos_id), limited(0, 3).options)])
    assert helpers() == before
