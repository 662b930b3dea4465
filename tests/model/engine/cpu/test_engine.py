from __future__ import annotations

import threading
import time
from collections.abc import Callable
from unittest.mock import ANY

import pytest

from model.decoding.hypothesis import HuggingFaceRule, SearchOptions
from model.engine.cpu import engine as engine_module
from model.engine.cpu.engine import MAX_ROWS, MAX_SENTENCES, CpuEngine
from model.engine.cpu.slots import MAX_BEAM, pages_needed
from model.engine.cpu.weights import Precision
from model.engine.protocol import EngineInfo, Finished, Job
from model.transformer import Transformer
from tests.model.engine.cpu.running import (
    PRECISIONS,
    advance,
    alone,
    check_empty,
    cpu_engine,
    draw_jobs,
    limited,
    run,
)

MakeModel = Callable[..., Transformer]

pytestmark = pytest.mark.usefixtures("impatient")
GREEDY = SearchOptions(beam_size=1)


# Joining and leaving


def test_an_engine_without_jobs_steps_to_nothing(model: Transformer) -> None:
    engine = cpu_engine(model, "int8")
    assert not engine.busy
    assert engine.step() == []
    engine.admit([])
    engine.cancel([3])
    assert not engine.busy


def test_a_step_that_is_to_end_goes_on_for_a_few_tokens(
    endless: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "STEP_TOKENS", 3)
    engine = cpu_engine(endless, "int8")
    engine.admit([limited(0, 9), limited(1, 1), limited(2, 5)])
    assert [job_id for job_id, _ in advance(engine)] == [1]
    assert engine._slots.length.max() == 3
    assert advance(engine) == [(2, ANY)]
    assert engine._slots.length.max() == 6
    assert engine.step() == [(0, ANY)]


def test_it_does_not_where_a_token_takes_long(
    endless: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "STEP_TOKENS", 8)
    rows = 5  # three of two beams at the first token, then six rows
    monkeypatch.setattr(engine_module, "STEP_WORK", rows * engine_module._row_work(endless.config))
    engine = cpu_engine(endless, "int8")
    engine.admit([limited(job_id, 30, beam=2) for job_id in range(3)])
    assert advance(engine) == []
    assert engine._slots.length.max() == 2
    assert advance(engine) == []
    assert engine._slots.length.max() == 3


def test_it_does_not_once_all_are_over(
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


def test_a_step_goes_on_until_a_sentence_ends(endless: Transformer) -> None:
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


def test_a_step_in_progress_ends_when_it_is_interrupted(make_speaker: MakeModel) -> None:
    endless = make_speaker(eos_bias=-100, max_length=8000)
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
    assert 1 < engine._slots.length.max() < 8000


@PRECISIONS
def test_cancelled_jobs_are_gone_before_the_next_token(
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


# Room


def fill(engine: CpuEngine, job: Callable[[int], Job]) -> int:
    n_jobs = 0
    while engine.room(job(n_jobs)):
        engine.admit([job(n_jobs)])
        n_jobs += 1
    return n_jobs


@pytest.mark.parametrize("started", [False, True])
def test_there_is_room_for_so_many_sentences(endless: Transformer, started: bool) -> None:
    engine = cpu_engine(endless, "int8")
    assert fill(engine, lambda n: limited(n, 40)) == MAX_SENTENCES
    if started:
        advance(engine)
    engine.cancel([5])
    assert fill(engine, lambda n: limited(100 + n, 40)) == 1
    engine.cancel(range(200))
    check_empty(engine)


@pytest.mark.parametrize("started", [False, True])
def test_there_is_room_for_so_many_hypotheses(endless: Transformer, started: bool) -> None:
    engine = cpu_engine(endless, "int8")
    assert fill(engine, lambda n: limited(n, 40, beam=MAX_BEAM)) == MAX_ROWS // MAX_BEAM
    if started:
        advance(engine)
    assert not engine.room(limited(100, 40))
    engine.cancel([5])
    assert fill(engine, lambda n: limited(100 + n, 40, beam=5)) == 6
    engine.cancel(range(200))
    check_empty(engine)


def test_there_is_room_for_so_many_pages(
    endless: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "CACHE_BYTES", 0)
    engine = cpu_engine(endless, "int8")
    enough_for_one = pages_needed(40, MAX_BEAM, 40)
    jobs = {n: limited(n, 40, beam=3, source=(5,) * 33) for n in range(100)}
    n_fit = fill(engine, jobs.__getitem__)
    assert n_fit == enough_for_one // pages_needed(33, 3, 40)
    assert engine.room(limited(100, 1))
    expected = alone(cpu_engine(endless, "int8"), list(jobs.values()))
    assert run(engine, (job for job in jobs.values() if job.id >= n_fit)) == expected
    check_empty(engine)
    engine.admit([limited(0, 40, beam=MAX_BEAM, source=(5,) * 40)])
    engine.step()
    check_empty(engine)


def test_more_than_there_is_room_for_is_refused(endless: Transformer) -> None:
    engine = cpu_engine(endless, "int8")
    with pytest.raises(ValueError, match="room"):
        engine.admit([limited(n, 40) for n in range(MAX_SENTENCES + 1)])
    check_empty(engine)
    fill(engine, lambda n: limited(n, 40, beam=MAX_BEAM))
    with pytest.raises(ValueError, match="room"):
        engine.admit([limited(100, 40)])


# What is refused


@pytest.mark.parametrize(
    ("source", "options", "named"),
    [
        ((), GREEDY, "0 source tokens: 1 … 40"),
        ((5,) * 41, GREEDY, "41 source tokens"),
        ((5, 150, 1), GREEDY, "a source id outside the vocabulary of 150"),
        ((5, -1, 1), GREEDY, "a source id outside"),
        ((5, 1), SearchOptions(beam_size=MAX_BEAM + 1), "beam_size 33: at most 32"),
        ((5, 1), SearchOptions(rule=HuggingFaceRule()), "rule"),
    ],
)
def test_what_the_kernels_cannot_take_is_refused(
    model: Transformer, source: tuple[int, ...], options: SearchOptions, named: str
) -> None:
    engine = cpu_engine(model, "int8")
    with pytest.raises(ValueError, match=named):
        engine.admit([limited(0, 3), Job(1, source, options)])
    check_empty(engine)
    engine.admit([limited(0, 3)])
    with pytest.raises(ValueError, match=named):
        engine.admit([Job(1, source, options)])
    assert [done.job_id for done in engine.step()] == [0]
    check_empty(engine)


@PRECISIONS
def test_info_tells_device_precision_and_threads(
    make_speaker: MakeModel, precision: Precision
) -> None:
    assert cpu_engine(make_speaker(), precision).info == EngineInfo("cpu", precision, 1)
