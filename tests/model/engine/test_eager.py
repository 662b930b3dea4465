import itertools
from collections.abc import Generator
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch

from model.decoding.beam import beam_search
from model.decoding.constraints import Constraint, Wording
from model.decoding.hypothesis import Hypothesis, Outcome, SearchOptions
from model.decoding.rules import HuggingFaceRule
from model.engine import eager
from model.engine.eager import EagerEngine
from model.engine.explanations import AttentionKind
from model.engine.protocol import Engine, Finished, Job
from model.engine.torch import constrained as searches
from model.errors import NumericalError
from model.transformer.transformer import AttentionRecord, Transformer
from tests.model.make_model import MakeModel

GREEDY, BEAM = SearchOptions(beam_size=1), SearchOptions(beam_size=3, n_best=2)
SOURCES = [(5, 6, 7, 1), (4, 1), (3, 8, 9, 10, 11, 1)]


@pytest.fixture
def model(make_model: MakeModel) -> Transformer:
    return make_model(output_bias=True, norm_order="pre")


@pytest.fixture
def engine(model: Transformer) -> Engine:
    return EagerEngine(model)


def jobs(*options: SearchOptions) -> list[Job]:
    return [
        Job(10 + index, source, one)
        for index, (source, one) in enumerate(zip(SOURCES, options, strict=False))
    ]


def alone(model: Transformer, job: Job) -> list[Hypothesis]:
    (found,) = beam_search(model, torch.tensor([job.source_ids]), job.options)
    return found


def check(finished: list[Finished], admitted: list[Job], model: Transformer) -> None:
    by_id = {job.id: job for job in admitted}
    for job_id, outcome in finished:
        assert isinstance(outcome, list)
        expected = alone(model, by_id[job_id])
        assert [one.ids for one in outcome] == [one.ids for one in expected]
        assert [one.score for one in outcome] == pytest.approx(
            [one.score for one in expected], abs=1e-4
        )


def test_every_job_is_searched_by_its_options(engine: Engine, model: Transformer) -> None:
    admitted = jobs(GREEDY, BEAM, GREEDY)
    engine.admit(admitted[:1])
    engine.admit(admitted[1:])
    finished: list[Finished] = []
    while engine.busy:
        finished += engine.step()
    assert {job_id for job_id, _ in finished} == {10, 11, 12}
    check(finished, admitted, model)


def test_a_cancelled_job_is_never_finished(engine: Engine) -> None:
    engine.admit(jobs(BEAM, BEAM, BEAM))
    engine.cancel([11, 99])
    finished: list[Finished] = []
    while engine.busy:
        finished += engine.step()
    assert {job_id for job_id, _ in finished} == {10, 12}
    engine.admit(jobs(BEAM))
    engine.cancel([10])
    assert not engine.busy
    assert engine.step() == []


def test_few_jobs_are_searched_at_a_time(engine: Engine) -> None:
    waiting = [Job(number, (5, 1), GREEDY) for number in range(1 + eager.MAX_JOBS)]
    for one in waiting[:-1]:
        assert engine.can_admit(one)
        engine.admit([one])
    assert not engine.can_admit(waiting[-1])
    engine.cancel([0])
    assert engine.can_admit(waiting[-1])


def test_numbers_must_be_finite(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    nan = float("nan")
    fine = [Hypothesis((4,), (-0.1, -0.1), -0.1, capped=False)]
    found = [fine, [Hypothesis((), (nan,), nan, capped=False)], []]

    def search(*_: object) -> Generator[None, None, list[list[Hypothesis]]]:
        yield None
        return [found.pop(0)]

    monkeypatch.setattr(searches, "constrained_steps", search)
    engine.admit(jobs(GREEDY, GREEDY, GREEDY))
    first, *others = [outcome for _, outcome in engine.step()]
    assert first == fine
    assert {type(outcome) for outcome in others} == {NumericalError}


def test_nan_is_an_error_of_its_sentence(engine: Engine, model: Transformer) -> None:
    with torch.no_grad():
        model.source_embedding.weight[5] = float("nan")
    engine.admit([Job(0, (5, 5, 5), GREEDY)])
    [(_, outcome)] = engine.step()
    assert isinstance(outcome, NumericalError)


@pytest.mark.parametrize(
    ("failure", "outcome"),
    [(RuntimeError("struck"), RuntimeError), (torch.OutOfMemoryError("CUDA"), MemoryError)],
)
def test_an_exception_is_the_outcome_of_its_job(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, failure: Exception, outcome: type[Exception]
) -> None:
    def fail(*_: object) -> Generator[None, None, None]:
        raise failure
        yield

    with monkeypatch.context() as patch:
        patch.setattr(searches, "constrained_steps", fail)
        engine.admit(jobs(GREEDY))
    engine.admit(jobs(GREEDY, BEAM)[1:])
    [(job_id, found)] = engine.step()
    assert (job_id, type(found)) == (10, outcome)
    [(job_id, other)] = engine.step()
    assert job_id == 11
    assert isinstance(other, list)
    assert not engine.busy


def test_info_has_device_precision_and_threads(engine: Engine) -> None:
    assert engine.info.engine == "reference"
    assert engine.info.device == "cpu"
    assert engine.info.precision == "float32"
    assert engine.info.threads == torch.get_num_threads()


@pytest.mark.parametrize("kind", get_args(AttentionKind))
def test_explain_equals_a_record(engine: Engine, model: Transformer, kind: AttentionKind) -> None:
    source, target = SOURCES[0], (8, 9, 10, 1)
    weights = engine.explain(source, target, kind)
    record = AttentionRecord()
    with torch.no_grad():
        memory = model.encode(torch.tensor([source]), record)
        model.decode(memory, torch.tensor([[model.config.start_id, 8, 9, 10]]), record)
    expected = [layer[0].numpy() for layer in getattr(record, kind)]
    assert weights.dtype == np.float32
    np.testing.assert_allclose(weights, np.stack(expected), atol=1e-6)
    np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-5)


def test_explain_does_not_disturb_the_jobs_admitted(engine: Engine, model: Transformer) -> None:
    admitted = jobs(BEAM)
    engine.admit(admitted)
    engine.explain(SOURCES[1], (4, 1), "cross")
    check(engine.step(), admitted, model)


def test_a_model_in_training_is_put_to_evaluation(make_model: MakeModel) -> None:
    model = make_model(dropout=0.5).train()
    engine: Engine = EagerEngine(model)
    first = engine.explain(SOURCES[0], (4, 1), "cross")
    np.testing.assert_array_equal(first, engine.explain(SOURCES[0], (4, 1), "cross"))


# Streaming


def streaming(*options: SearchOptions) -> list[Job]:
    return [replace(one, stream=True) for one in jobs(*options)]


def test_streaming_reports_every_token(engine: Engine, model: Transformer) -> None:
    admitted = [*streaming(GREEDY), *jobs(GREEDY, GREEDY)[1:]]
    engine.admit(admitted)
    streamed: list[list[int]] = []
    done: list[Finished] = []
    while engine.busy:
        done += engine.step()
        progress = engine.progress()
        assert {one.job_id for one in progress} <= {10}
        streamed += [one.ids for one in progress]
        assert engine.progress() == []
    check(done, admitted, model)
    best = alone(model, admitted[0])[0].ids
    assert streamed == [list(best[:n]) for n in range(1, len(streamed) + 1)]
    assert len(best) - len(streamed) in (0, 1)
    assert not engine.busy
    assert engine.progress() == []


def test_a_cancelled_job_has_no_further_progress(engine: Engine, model: Transformer) -> None:
    admitted = streaming(GREEDY, GREEDY, GREEDY)
    engine.admit(admitted)
    engine.step()
    engine.cancel([10, 11])
    assert {one.job_id for one in engine.progress()} == {12}
    done: list[Finished] = []
    while engine.busy:
        done += engine.step()
    assert [job_id for job_id, _ in done] == [12]
    check(done, admitted, model)
    engine.admit(streaming(BEAM))
    engine.step()
    engine.cancel([10])
    assert not engine.busy
    assert engine.progress() == []
    assert engine.step() == []


RULES = (None, HuggingFaceRule(renormalise=True))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("beam_size", [1, 3])
def test_scores_equal_the_searchs(
    engine: Engine, beam_size: int, rule: HuggingFaceRule | None
) -> None:
    options = SearchOptions(beam_size, n_best=beam_size, rule=rule)
    engine.admit([Job(0, SOURCES[0], options)])
    [(_, outcome)] = engine.step()
    assert isinstance(outcome, list)
    for found in outcome:
        end = () if found.capped else (1,)
        log_probs = engine.score([(SOURCES[0], (*found.ids, *end))], options)[0]
        assert log_probs.dtype == np.float32
        assert log_probs.tolist() == pytest.approx(found.log_probs, abs=1e-5)


def test_padding_has_no_probability(engine: Engine) -> None:
    log_probs = engine.score([(SOURCES[0], (4, 0, 1))], BEAM)[0]
    assert np.isneginf(log_probs).tolist() == [False, True, False]


def test_terms_are_streamed_token_by_token_too(engine: Engine, model: Transformer) -> None:
    terms = (Constraint((Wording((9, 4)),)),)
    options = SearchOptions(beam_size=2, max_target_tokens=8, constraints=terms)
    plain, followed = jobs(options, options)
    engine.admit([plain, replace(followed, stream=True)])
    outcomes: dict[int, Outcome] = {}
    streamed: list[list[int]] = []
    while engine.busy:
        outcomes |= dict(engine.step())
        streamed += [one.ids for one in engine.progress()]
    for outcome in outcomes.values():
        assert isinstance(outcome, list)
        assert (9, 4) in itertools.pairwise(outcome[0].ids)
    best = outcomes[followed.id]
    assert isinstance(best, list)
    for ids in streamed:
        assert list(best[0].ids[: len(ids)]) == ids
