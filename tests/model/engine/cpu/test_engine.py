from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest

from model.decoding.hypothesis import HuggingFaceRule, Hypothesis, SearchOptions
from model.engine.cpu import engine as engine_module
from model.engine.cpu.engine import MAX_ROWS, MAX_SENTENCES, CpuEngine
from model.engine.cpu.slots import MAX_BEAM, occupy, pages_needed
from model.engine.cpu.weights import Precision
from model.engine.eager import EagerEngine
from model.engine.protocol import AttentionKind, EngineInfo, Finished, Job
from model.errors import NumericalError
from model.transformer import Transformer
from tests.model.engine.cpu.running import (
    Outcome,
    alone,
    check_empty,
    check_pages,
    check_same,
    cpu_engine,
    draw_jobs,
    draw_source,
    every_option,
    reference,
    run,
)

MakeModel = Callable[..., Transformer]
PRECISIONS = pytest.mark.parametrize("precision", get_args(Precision))
KINDS = pytest.mark.parametrize("kind", get_args(AttentionKind))
GREEDY = SearchOptions(beam_size=1)
APART: dict[str, Any] = {"share_embeddings": False, "tie_output": False}

FAMILY: dict[str, dict[str, Any]] = {
    "post-norm, ReLU": {"norm_order": "post"},
    "pre-norm, ReLU": {"norm_order": "pre"},
    "post-norm, GELU": {"norm_order": "post", "activation": "gelu"},
    "pre-norm, GELU": {"norm_order": "pre", "activation": "gelu"},
    "swish, halves": {"activation": "swish", "position_layout": "halves"},
    "quick GELU, marian": {"activation": "quick_gelu", "position_layout": "marian"},
    "separate vocabularies": {"source_vocab_size": 30, "target_vocab_size": 150, **APART},
    "one vocabulary, untied": {"tie_output": False},
    "a large vocabulary": {"source_vocab_size": 700, "target_vocab_size": 700},
    "no bias": {"output_bias": False},
    "a tiny vocabulary": {"source_vocab_size": 4, "target_vocab_size": 4},
    "other heads and width in the decoder": {"decoder_n_heads": 2, "decoder_d_ff": 70},
    "a narrower decoder": {"d_ff": 200, "decoder_d_ff": 6, "activation": "gelu"},
    "heads of 36": {"d_model": 72, "n_heads": 2, "d_ff": 100, "norm_order": "pre", "spread": 0.1},
    "heads of 80": {"d_model": 160, "n_heads": 2, "d_ff": 64, "spread": 0.06},
    "two short of a group of four": {"d_model": 18, "n_heads": 3, "d_ff": 30},
    "unscaled": {"scale_embedding": False},
    "ids elsewhere": {"pad_id": 11, "eos_id": 0, "start_id": 11},
    "started with a word": {"start_id": 7},
    "one layer, then three": {"n_encoder_layers": 1, "n_decoder_layers": 3},
}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "PATIENCE", 0)


@pytest.fixture
def model(make_speaker: MakeModel) -> Transformer:
    """Says more than a page of some sentences, and has a matrix of no round size."""
    return make_speaker(
        d_model=20, d_ff=50, source_vocab_size=150, target_vocab_size=150, max_length=40,
        norm_order="pre", activation="gelu", eos_bias=2.5,
    )  # fmt: skip


@pytest.fixture
def endless(make_speaker: MakeModel) -> Transformer:
    """Never ends a sentence."""
    return make_speaker(eos_bias=-100, max_length=40)


def hypotheses(outcome: Outcome) -> list[Hypothesis]:
    assert isinstance(outcome, list)
    return outcome


def same_bits(outcomes: dict[int, Outcome], expected: dict[int, Outcome]) -> None:
    assert outcomes == expected  # floats and all: `Hypothesis` compares by value


# The reference's answers


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("eos_bias", [2.5, 0.5], ids=["short", "long"])
def test_float32_answers_as_the_reference(
    make_speaker: MakeModel, name: str, eos_bias: float
) -> None:
    model = make_speaker(**FAMILY[name], eos_bias=eos_bias)
    engine = cpu_engine(model, "float32")
    jobs = every_option(model, seed=len(name))
    outcomes = run(engine, jobs)
    for job in jobs:
        check_same(outcomes[job.id], reference(model, job))
    check_empty(engine)


def test_the_family_gives_many_answers_long_and_short(make_speaker: MakeModel) -> None:
    lengths = []
    for eos_bias in (2.5, 0.5):
        model = make_speaker(**FAMILY["pre-norm, GELU"], eos_bias=eos_bias)
        outcomes = run(cpu_engine(model, "float32"), every_option(model, seed=1))
        found = [one for outcome in outcomes.values() for one in hypotheses(outcome)]
        assert len({one.ids for one in found}) > len(found) / 2
        assert {one.capped for one in found} == {True, False}
        lengths.append(np.mean([len(one.ids) for one in found]))
    assert lengths[0] < 8
    assert lengths[1] > 16  # more than a page


def test_int8_is_near_the_reference(make_speaker: MakeModel) -> None:
    model = make_speaker(**FAMILY["heads of 36"], eos_bias=2.5)
    jobs = [Job(n, job.source_ids, GREEDY) for n, job in enumerate(draw_jobs(model, 40, seed=1))]
    outcomes = run(cpu_engine(model, "int8"), jobs)
    same = [reference(model, job)[0].ids == hypotheses(outcomes[job.id])[0].ids for job in jobs]
    assert np.mean(same) > 0.8


# The same bits in any company


@PRECISIONS
@pytest.mark.parametrize("seed", range(4))
def test_answers_are_the_same_bits_in_any_company(
    model: Transformer, precision: Precision, seed: int
) -> None:
    choose = np.random.default_rng(seed)
    engine = cpu_engine(model, precision)
    jobs = draw_jobs(model, 60, seed=10 + seed)
    expected = alone(engine, jobs)
    waiting = [jobs[index] for index in choose.permutation(len(jobs))]
    in_flight: set[int] = set()
    outcomes: dict[int, Outcome] = {}
    cancelled: set[int] = set()
    most = 0
    while waiting or engine.busy:
        for _ in range(choose.integers(0, 12)):
            if waiting and engine.room(waiting[0]):
                in_flight.add(waiting[0].id)
                engine.admit([waiting.pop(0)])
        if in_flight and choose.random() < 0.3:
            dropped = int(choose.choice(sorted(in_flight)))
            engine.cancel([dropped])
            in_flight.remove(dropped)
            cancelled.add(dropped)
        if choose.random() < 0.7:
            engine.interrupt()
        most = max(most, len(in_flight))
        done = dict(engine.step())
        outcomes |= done
        in_flight -= done.keys()
        check_pages(engine)
    assert most > 10
    assert cancelled
    assert outcomes.keys() == {job.id for job in jobs} - cancelled
    same_bits(outcomes, {job_id: expected[job_id] for job_id in outcomes})
    check_empty(engine)


@PRECISIONS
def test_answers_are_the_same_bits_all_at_once(model: Transformer, precision: Precision) -> None:
    engine = cpu_engine(model, precision)
    jobs = draw_jobs(model, 150, seed=2)
    same_bits(run(engine, jobs), alone(engine, jobs))
    assert sum(len(job.source_ids) for job in jobs[:MAX_SENTENCES]) > 2 * MAX_ROWS


@PRECISIONS
def test_two_engines_share_weights_and_nothing_else(
    model: Transformer, precision: Precision
) -> None:
    first = cpu_engine(model, precision)
    second = CpuEngine(model.config, first._weights)
    jobs = draw_jobs(model, 20, seed=3)
    expected = alone(first, jobs)
    threads = []
    found: list[dict[int, Outcome]] = []
    for engine in (first, second):
        threads.append(threading.Thread(target=lambda e=engine: found.append(run(e, jobs))))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert found == [expected, expected]


# Joining and leaving


def advance(engine: CpuEngine) -> list[Finished]:
    """By one token."""
    engine.interrupt()
    return engine.step()


def limited(job_id: int, limit: int, beam: int = 1, source: tuple[int, ...] = (5, 6, 1)) -> Job:
    return Job(job_id, source, SearchOptions(beam, max_target_tokens=limit))


def test_an_engine_without_jobs_steps_to_nothing(model: Transformer) -> None:
    engine = cpu_engine(model, "int8")
    assert not engine.busy
    assert engine.step() == []
    engine.admit([])
    engine.cancel([3])
    assert not engine.busy


def test_few_newcomers_wait_a_little_for_company_and_no_longer(
    endless: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "PATIENCE", 2)
    engine = cpu_engine(endless, "int8")
    engine.admit([limited(0, 9)])
    assert advance(engine) == []
    engine.admit([limited(1, 1)])
    assert [[job_id for job_id, _ in engine.step()] for _ in range(3)] == [[], [], [1]]
    monkeypatch.setattr(engine_module, "ENOUGH_TOKENS", 1)
    engine.admit([limited(2, 1)])
    assert [job_id for job_id, _ in engine.step()] == [2]


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
    same_bits(outcomes, {job_id: expected[job_id] for job_id in outcomes})
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
    assert fill(engine, lambda n: limited(100 + n, 40, beam=5)) == 3
    engine.cancel(range(200))
    check_empty(engine)


def test_there_is_room_for_so_many_pages(
    endless: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "CACHE_BYTES", 0)
    engine = cpu_engine(endless, "int8")
    enough_for_one = pages_needed(40, MAX_BEAM, 40)
    jobs = {n: limited(n, 40, beam=3, source=(5,) * 17) for n in range(100)}
    assert fill(engine, jobs.__getitem__) == enough_for_one // pages_needed(17, 3, 40)
    assert engine.room(limited(100, 1))
    expected = alone(cpu_engine(endless, "int8"), list(jobs.values()))
    same_bits(run(engine, (job for job in jobs.values() if job.id >= 4)), expected)
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
        ((5, 1), SearchOptions(beam_size=MAX_BEAM + 1), "beam_size 17: at most 16"),
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


@KINDS
@pytest.mark.parametrize(
    ("source", "target", "named"),
    [
        ((), (5, 1), "0 source tokens"),
        ((5, 1), (), "0 target tokens"),
        ((5, 1), (5,) * 41, "41 target tokens"),
        ((150, 1), (5, 1), "a source id"),
        ((5, 1), (5, 150), "a target id"),
        ((5, 1), (-1,), "a target id"),
    ],
)
def test_what_cannot_be_explained_is_refused(
    model: Transformer, source: tuple[int, ...], target: tuple[int, ...], named: str,
    kind: AttentionKind,
) -> None:  # fmt: skip
    with pytest.raises(ValueError, match=named):
        cpu_engine(model, "int8").explain(source, target, kind)


# Faults


@PRECISIONS
@pytest.mark.parametrize("d_model", [16, 18])
@pytest.mark.parametrize("spoilt", [np.nan, np.inf])
def test_nan_fails_the_sentence_that_it_is_in_and_no_other(
    make_speaker: MakeModel, precision: Precision, d_model: int, spoilt: float
) -> None:
    model = make_speaker(d_model=d_model, n_heads=2, source_vocab_size=30, max_length=20, **APART)
    engine = cpu_engine(model, precision)
    jobs = draw_jobs(model, 40, seed=5)
    expected = alone(engine, jobs)
    weights = engine._weights
    weights.source_embedding[7, 3] = spoilt
    poisoned = {job.id for job in jobs if 7 in job.source_ids}
    assert 5 < len(poisoned) < 35
    for _ in range(2):  # rows, pages and slots that were spoilt are used again
        outcomes = run(engine, jobs)
        for job_id in poisoned:
            assert isinstance(outcomes.pop(job_id), NumericalError)
        same_bits(outcomes, {job_id: expected[job_id] for job_id in outcomes})
    clean = [job for job in jobs if job.id not in poisoned]
    for job in clean:
        assert run(engine, [job]) == {job.id: expected[job.id]}
    check_empty(engine)


@PRECISIONS
def test_nan_fails_a_sentence_if_any_of_its_hypotheses_meets_it(
    make_speaker: MakeModel, precision: Precision
) -> None:
    model = make_speaker(
        eos_bias=-1.0, source_vocab_size=30, target_vocab_size=40, max_length=20, **APART
    )
    engine = cpu_engine(model, precision)
    choose = np.random.default_rng(0)
    options = SearchOptions(beam_size=4, n_best=4, max_target_tokens=8)
    jobs = [Job(n, draw_source(model, choose, 6), options) for n in range(40)]
    expected = run(engine, jobs)
    said = {job_id: [one.ids for one in hypotheses(found)] for job_id, found in expected.items()}
    fed = {
        job_id: {token for ids in all_ids for token in ids[:7]} for job_id, all_ids in said.items()
    }
    token = max(range(40), key=lambda token: sum(token in tokens for tokens in fed.values()))
    engine._weights.target_embedding[token] = np.nan
    outcomes = run(engine, jobs)
    meets = {job_id for job_id, tokens in fed.items() if token in tokens}
    assert len(meets) > 5
    for job_id in meets:
        assert isinstance(outcomes.pop(job_id), NumericalError)
    for job_id, outcome in outcomes.items():  # another may have met it on the way
        assert isinstance(outcome, NumericalError) or outcome == expected[job_id]


def raises(error: BaseException, after: int) -> Callable[..., Any]:
    """Stands for `occupy` that many times, or for nothing."""
    calls = iter(range(after))

    def fail(*arguments: Any) -> Any:
        if next(calls, None) is None:
            raise error
        return occupy(*arguments)

    return fail


@PRECISIONS
@pytest.mark.parametrize(
    ("target", "after"),
    [
        ("model.engine.cpu.engine.occupy", 0),
        ("model.engine.cpu.engine.occupy", 2),
        ("model.engine.cpu.engine.decoder.join", 0),
        ("model.engine.cpu.engine.search.run", 0),
        ("model.engine.cpu.engine.finished_hypothesis", 0),
    ],
)
@pytest.mark.parametrize("error", [MemoryError(), KeyboardInterrupt()], ids=["memory", "keyboard"])
def test_an_exception_in_a_step_empties_the_engine(
    model: Transformer, precision: Precision, target: str, after: int, error: BaseException,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    engine = cpu_engine(model, precision)
    jobs = draw_jobs(model, 30, seed=6)
    expected = alone(cpu_engine(model, precision), jobs)
    engine.admit(jobs[:10])
    advance(engine)
    engine.admit(jobs[10:20])
    with monkeypatch.context() as patch:
        patch.setattr(target, raises(error, after))
        with pytest.raises(type(error)):
            run(engine, [])
    check_empty(engine)
    assert engine.step() == []
    same_bits(run(engine, jobs), expected)
    check_empty(engine)


# Explaining

EXPLAINED = ("pre-norm, GELU", "other heads and width in the decoder", "separate vocabularies",
             "heads of 80", "ids elsewhere")  # fmt: skip


@KINDS
@pytest.mark.parametrize("name", EXPLAINED)
def test_float32_explains_as_the_reference(
    make_speaker: MakeModel, name: str, kind: AttentionKind
) -> None:
    model = make_speaker(**FAMILY[name])
    engine = cpu_engine(model, "float32")
    eager = EagerEngine(model)
    choose = np.random.default_rng(0)
    for n_source, n_target in ((1, 1), (5, 3), (17, 33), (36, 36)):
        source = draw_source(model, choose, n_source)
        drawn = choose.integers(0, model.config.target_vocab_size, n_target)
        weights = engine.explain(source, drawn.tolist(), kind)
        expected = eager.explain(source, drawn.tolist(), kind)
        assert weights.dtype == np.float32
        np.testing.assert_allclose(weights, expected, atol=1e-5)
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)


@PRECISIONS
@KINDS
def test_explaining_does_not_disturb_sentences_in_flight(
    model: Transformer, precision: Precision, kind: AttentionKind
) -> None:
    engine = cpu_engine(model, precision)
    jobs = draw_jobs(model, 15, seed=7)
    expected = alone(engine, jobs)
    first = engine.explain((5, 6, 7, 1), (8, 9, 1), kind)
    engine.admit(jobs)
    outcomes: dict[int, Outcome] = {}
    while engine.busy:
        outcomes |= dict(advance(engine))
        again = engine.explain((5, 6, 7, 1), (8, 9, 1), kind)
        assert again.tobytes() == first.tobytes()
    same_bits(outcomes, expected)
    np.testing.assert_allclose(first.sum(-1), 1, atol=1e-5)


@PRECISIONS
def test_info_tells_device_precision_and_threads(
    make_speaker: MakeModel, precision: Precision
) -> None:
    assert cpu_engine(make_speaker(), precision).info == EngineInfo("cpu", precision, 1)
