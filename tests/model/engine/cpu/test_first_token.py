"""Searches whose first token is given, as a target language is for M2M-100."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from model.decoding.beam import beam_search
from model.decoding.constrained import constrained_search
from model.decoding.constraints import ANYWHERE, FIRST, GLUED, Constraint, PieceEdges, Wording
from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import Rule
from model.decoding.trace import SearchTrace
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.forward.weights import Precision
from model.engine.eager import EagerEngine
from model.engine.protocol import Engine, Job
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import alone, check_empty, cpu_engine, pack_model, run
from tests.model.engine.jobs import PRECISIONS, RULES, check_same, draw_jobs, hypotheses

HUGGING_FACE = {name: rule for name, rule in RULES.items() if "Marian" not in name}
LANGUAGES = (30, 31, 149)


def with_first_ids(jobs: Sequence[Job]) -> Iterator[Job]:
    """The same jobs, with languages in turn; every fourth has none."""
    for job in jobs:
        language = (*LANGUAGES, None)[job.id % 4]
        yield replace(job, options=replace(job.options, first_id=language))


def reference(model: Transformer, job: Job) -> list[object]:
    [found] = beam_search(model, torch.tensor([job.source_ids]), job.options)
    return list(found)


@pytest.mark.parametrize("rule", HUGGING_FACE.values(), ids=str)
def test_float32_answers_as_the_reference(model: Transformer, rule: Rule | None) -> None:
    engine = cpu_engine(model, "float32")
    jobs = list(with_first_ids(draw_jobs(model, 16, seed=3, rules=[rule])))
    outcomes = run(engine, jobs)
    for job in jobs:
        check_same(outcomes[job.id], reference(model, job))  # type: ignore[arg-type]
        for one in hypotheses(outcomes[job.id]):
            assert job.options.first_id in (None, *one.ids[:1])
    check_empty(engine)


@PRECISIONS
def test_answers_are_the_same_bits_in_any_batch(model: Transformer, precision: Precision) -> None:
    engine = cpu_engine(model, precision)
    jobs = list(with_first_ids(draw_jobs(model, 24, seed=4, rules=list(HUGGING_FACE.values()))))
    assert run(engine, jobs) == alone(engine, jobs)


def test_the_given_token_costs_nothing_and_counts_as_length(model: Transformer) -> None:
    options = SearchOptions(first_id=30)
    [found] = hypotheses(run(cpu_engine(model, "int8"), [Job(0, (5, 6, 1), options)])[0])
    assert found.ids[0] == 30
    assert found.log_probs[0] == 0
    n = len(found.ids) + (not found.capped)
    assert found.score == pytest.approx(sum(found.log_probs) / options.normalisation(n))


def test_the_limit_of_a_request_does_not_count_it(model: Transformer) -> None:
    for engine in (cpu_engine(model, "int8"), EagerEngine(model)):
        options = SearchOptions(first_id=30, max_target_tokens=1)
        engine.admit([Job(0, (5, 6, 1), options)])
        [(_, outcome)] = engine.step()
        assert isinstance(outcome, list)
        assert len(outcome[0].log_probs) == 2


TERMS = (
    Constraint((Wording((9, 10), ANYWHERE), Wording((11,), FIRST))),
    Constraint((Wording((12,), ANYWHERE), Wording((13, 14), GLUED))),
)


@pytest.mark.parametrize("first_id", [30, 31])
def test_terms_come_after_it(model: Transformer, first_id: int) -> None:
    choose = np.random.default_rng(1)
    edges = PieceEdges(choose.random(150) < 0.5, choose.random(150) < 0.5)
    edges.behind[30], edges.behind[31] = False, True  # nothing is joined to a language token
    engine = CpuEngine(model.config, pack_model(model, "float32"), edges)
    for beam, limit in ((1, None), (4, 12), (4, 4)):
        options = SearchOptions(
            beam, beam, max_target_tokens=limit, constraints=TERMS, first_id=first_id
        )
        job = Job(0, (5, 6, 7, 1), options)
        expected = constrained_search(model, torch.tensor([job.source_ids]), options, edges)
        check_same(run(engine, [job])[0], expected)
        for one in expected:
            assert one.ids[0] == first_id
            assert one.ids[1:3] != (13, 14)
            if 11 in one.ids:
                assert one.ids.index(11) == 1 or {9, 10} <= set(one.ids)


def beams_of(trace: SearchTrace) -> list[list[tuple[int | None, int | None, float]]]:
    return [
        [(one.parent, one.token, round(one.log_prob, 3)) for one in step.beams]
        for step in trace.steps
    ]


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("constraints", [(), TERMS], ids=["plain", "terms"])
def test_traces_begin_with_the_given_token(
    model: Transformer, beam: int, constraints: tuple[Constraint, ...]
) -> None:
    options = SearchOptions(beam, beam, constraints=constraints, first_id=30)
    engines: list[Engine] = [cpu_engine(model, "float32"), EagerEngine(model)]
    traces = [engine.trace((5, 6, 7, 1), options) for engine in engines]
    for trace in traces:
        first, second = trace.steps[:2]
        assert [(one.token, one.log_prob) for one in first.beams[0].likeliest] == [(30, 0.0)]
        assert [(one.parent, one.token, one.log_prob) for one in second.beams] == [(0, 30, 0.0)]
    for engine, trace in zip(engines, traces, strict=True):
        engine.admit([Job(0, (5, 6, 7, 1), options)])
        [(_, outcome)] = engine.step()
        assert list(trace.hypotheses) == outcome
    assert beams_of(traces[0])[:4] == beams_of(traces[1])[:4]


def test_scores_include_the_given_token(model: Transformer) -> None:
    for engine in (cpu_engine(model, "float32"), EagerEngine(model)):
        options = SearchOptions(first_id=30)
        plain = engine.score([((5, 6, 1), (30, 7, 1))], SearchOptions())[0]
        scored = engine.score([((5, 6, 1), (30, 7, 1))], options)[0]
        assert scored[0] == 0
        assert plain[0] < 0
        assert scored[1:] == pytest.approx(plain[1:])
        assert engine.score([((5, 6, 1), (31, 7, 1))], options)[0][0] == -np.inf


def test_the_given_token_is_streamed_at_once(model: Transformer) -> None:
    for engine in (cpu_engine(model, "float32"), EagerEngine(model)):
        engine.admit([Job(0, (5, 6, 7, 1), SearchOptions(first_id=30), stream=True)])
        streamed: list[list[int]] = []
        finished = engine.step()
        while not finished:
            streamed += [ids for _, ids in engine.progress()]
            finished = engine.step()
        assert isinstance(finished[0].outcome, list)
        assert streamed
        assert all(tuple(ids) == finished[0].outcome[0].ids[: len(ids)] for ids in streamed)


def test_an_invalid_token_is_refused(model: Transformer) -> None:
    with pytest.raises(ValueError, match="outside the vocabulary of 150"):
        cpu_engine(model, "int8").admit([Job(0, (5, 1), SearchOptions(first_id=150))])
    with pytest.raises(ValueError, match="first_id must be at least 0, not -1"):
        SearchOptions(first_id=-1)
