import threading
import time
from unittest.mock import ANY

import pytest

from model.engine.cpu import engine as engine_module
from model.engine.cpu.capacity import row_work
from model.engine.cpu.forward.weights import Precision
from model.engine.protocol import EngineInfo, Finished
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import advance, alone, check_empty, cpu_engine, run
from tests.model.engine.jobs import PRECISIONS, draw_jobs, limited
from tests.model.make_model import MakeModel

pytestmark = pytest.mark.usefixtures("impatient")


def test_a_step_ends_after_a_few_tokens(
    endless: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "STEP_TOKENS", 3)
    engine = cpu_engine(endless, "int8")
    engine.admit([limited(0, 9), limited(1, 1), limited(2, 5)])
    assert [job_id for job_id, _ in advance(engine)] == [1]
    assert max(engine._slots.length) == 3
    assert advance(engine) == [(2, ANY)]
    assert max(engine._slots.length) == 6
    assert engine.step() == [(0, ANY)]


def test_slow_tokens_end_a_step_early(
    endless: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "STEP_TOKENS", 8)
    rows = 5  # three of two beams at the first token, then six rows
    monkeypatch.setattr(engine_module, "STEP_WORK", rows * row_work(endless.config))
    engine = cpu_engine(endless, "int8")
    engine.admit([limited(job_id, 30, beam=2) for job_id in range(3)])
    assert advance(engine) == []
    assert max(engine._slots.length) == 2
    assert advance(engine) == []
    assert max(engine._slots.length) == 3


def test_a_step_ends_with_the_last_job(
    endless: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "STEP_TOKENS", 8)
    engine = cpu_engine(endless, "int8")
    engine.admit([limited(0, 2), limited(1, 4)])
    assert sorted(job_id for job_id, _ in engine.step()) == [0, 1]
    assert not engine.busy


def test_an_interrupted_step_is_a_token_and_joining_takes_none(endless: Transformer) -> None:
    engine = cpu_engine(endless, "int8")
    engine.admit([limited(0, 3)])
    assert [advance(engine) for _ in range(2)] == [[], []]
    engine.admit([limited(1, 1), limited(2, 2)])
    assert engine.busy
    assert sorted(job_id for job_id, _ in advance(engine)) == [0, 1]
    assert [job_id for job_id, _ in advance(engine)] == [2]
    assert not engine.busy


def test_a_step_continues_until_a_sentence_ends(endless: Transformer) -> None:
    engine = cpu_engine(endless, "int8")
    engine.admit([limited(0, 30), limited(1, 10), limited(2, 10), limited(3, 20)])
    ended = [[job_id for job_id, _ in engine.step()] for _ in range(3)]
    assert [sorted(ids) for ids in ended] == [[1, 2], [3], [0]]


def test_the_short_overtake_the_long(endless: Transformer) -> None:
    engine = cpu_engine(endless, "int8")
    engine.admit([limited(0, 40, beam=4)])
    advance(engine)
    for job_id in range(1, 6):
        engine.admit([limited(job_id, 3)])
        assert [done.job_id for done in engine.step()] == [job_id]
    assert [done.job_id for done in engine.step()] == [0]


def test_a_step_in_progress_ends_when_it_is_interrupted(make_varied_model: MakeModel) -> None:
    endless = make_varied_model(eos_bias=-100, max_length=8000)
    engine = cpu_engine(endless, "int8")
    engine.admit([limited(0, 8000)])
    advance(engine)
    steps: list[list[Finished]] = []
    thread = threading.Thread(target=lambda: steps.append(engine.step()))
    thread.start()
    time.sleep(0.02)
    engine.interrupt()
    thread.join()
    assert steps == [[]]
    assert engine.busy
    assert 1 < max(engine._slots.length) < 8000


@PRECISIONS
def test_cancelled_jobs_leave_before_the_next_token(
    model: Transformer, precision: Precision
) -> None:
    engine = cpu_engine(model, precision)
    jobs = draw_jobs(model, 30, seed=4)
    expected = alone(engine, jobs)
    engine.admit(jobs[:10])
    advance(engine)
    engine.admit(jobs[10:20])
    engine.cancel([0, 3, 12, 19, 99])  # in flight, waiting, unknown
    outcomes = run(engine, jobs[20:])
    assert not {0, 3, 12, 19} & outcomes.keys()
    assert len(outcomes) >= 20
    assert outcomes == {job_id: expected[job_id] for job_id in outcomes}
    engine.admit(jobs[:5])
    engine.cancel(range(5))
    check_empty(engine)
    engine.admit(jobs[:5])
    advance(engine)
    engine.cancel(range(5))
    check_empty(engine)


@PRECISIONS
def test_info_has_precision_and_threads(make_varied_model: MakeModel, precision: Precision) -> None:
    assert cpu_engine(make_varied_model(), precision).info == EngineInfo("cpu", "cpu", precision, 1)
