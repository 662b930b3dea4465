"""The engine answers as the reference, in any batch."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from model.decoding.constrained import constrained_steps
from model.engine.eager import EagerEngine
from model.engine.protocol import Job
from model.engine.run import run_jobs
from model.engine.torch import batch as batch_module
from model.engine.torch import constrained as constrained_module
from model.engine.torch import decoder as decoder_module
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import alone, run, run_concurrently
from tests.model.engine.cpu.test_constrained import draw_constrained, draw_edges
from tests.model.engine.cpu.test_streams import streamed
from tests.model.engine.jobs import (
    FAMILY,
    FOREIGN_RULES,
    RULES,
    check_same,
    draw_jobs,
    every_option,
    hypotheses,
)
from tests.model.engine.torch.running import expected_hypotheses, tokens_of, torch_engine
from tests.model.make_model import MakeModel


@pytest.mark.parametrize("name", FAMILY)
def test_it_answers_as_the_reference(make_varied_model: MakeModel, name: str) -> None:
    model = make_varied_model(**FAMILY[name], eos_bias=1.5)
    jobs = every_option(model, seed=len(name))
    foreign = draw_jobs(model, len(FOREIGN_RULES), len(name), list(FOREIGN_RULES.values()))
    jobs += [replace(job, id=100 + job.id) for job in foreign]
    outcomes = run(torch_engine(model), jobs)
    for job in jobs:
        check_same(outcomes[job.id], expected_hypotheses(model, job))


@pytest.mark.parametrize("rule", RULES)
def test_it_answers_as_the_reference_by_each_rule(make_varied_model: MakeModel, rule: str) -> None:
    model = make_varied_model(**FAMILY["a tiny vocabulary"], eos_bias=2.5)
    jobs = every_option(model, len(rule), RULES[rule])
    outcomes = run(torch_engine(model), jobs)
    for job in jobs:
        check_same(outcomes[job.id], expected_hypotheses(model, job))


def draw_all(model: Transformer, n: int, seed: int) -> list[Job]:
    """Sentences by all rules; some have terms, some a given first token."""
    edges = draw_edges(model, seed)
    jobs = draw_jobs(model, n, seed, list(RULES.values()))
    jobs = [
        replace(job, options=replace(job.options, first_id=30)) if job.id % 4 == 0 else job
        for job in jobs
    ]
    return jobs + draw_constrained(model, edges, n // 6, seed)


@pytest.mark.parametrize("seed", range(3))
def test_it_answers_as_the_reference_while_others_join_and_leave(
    model: Transformer, seed: int
) -> None:
    choose = np.random.default_rng(seed)
    jobs = draw_all(model, 30, seed)
    edges = draw_edges(model, seed)
    engine = torch_engine(model, edges=edges)
    result = run_concurrently(engine, jobs, choose, leaving=0.1)
    assert result.max_in_flight > 10
    assert 20 < len(result.outcomes) < len(jobs)
    for job in jobs:
        if job.id in result.outcomes:
            check_same(result.outcomes[job.id], expected_hypotheses(model, job, edges))


def test_steps_in_parts_answer_as_whole_steps(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = draw_jobs(model, 20, 7)
    expected = tokens_of(run(torch_engine(model), jobs))
    monkeypatch.setattr(batch_module, "MAX_LOGITS", 12 * model.config.target_vocab_size)
    engine = torch_engine(model)
    assert tokens_of(run(engine, jobs)) == expected
    assert {batch._slots_at_once for batch in engine._batches.values()} != {1}


def test_two_engines_share_a_stream_of_jobs(model: Transformer) -> None:
    jobs = draw_jobs(model, 30, 3, list(RULES.values()))
    engines = [torch_engine(model), torch_engine(model)]
    expected = alone(torch_engine(model), jobs)
    assert tokens_of(dict(run_jobs(engines, jobs))) == tokens_of(expected)
    assert not any(engine.busy for engine in engines)


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize(
    ("shape", "eos_bias"), [("post-norm, ReLU", 0.5), ("a recurrent decoder", -1)]
)
def test_it_streams_what_the_reference_does(
    make_varied_model: MakeModel, shape: str, eos_bias: float, seed: int
) -> None:
    model = make_varied_model(seed=seed, eos_bias=eos_bias, **FAMILY[shape])
    jobs = draw_jobs(model, 20, seed, list(RULES.values()))
    edges = draw_edges(model, seed)
    jobs += draw_constrained(model, edges, 3, seed)
    outcomes, prefixes = streamed(torch_engine(model, edges=edges), jobs)
    for job in jobs:
        check_same(outcomes[job.id], expected_hypotheses(model, job, edges))
        by_reference = streamed(EagerEngine(model, edges=edges), [job])[1][job.id]
        if job.options.traits.forces_end:  # the engine does not wait for the end
            assert prefixes[job.id] in (by_reference, by_reference[:-1])
        else:
            assert prefixes[job.id] == by_reference
    assert any(prefixes.values())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_near_the_reference(
    make_varied_model: MakeModel, dtype: torch.dtype
) -> None:
    model = make_varied_model(**FAMILY["heads of 36"], eos_bias=2.5)
    jobs = draw_jobs(model, 16, 1)
    expected = [expected_hypotheses(model, job)[0] for job in jobs]
    half = make_varied_model(**FAMILY["heads of 36"], eos_bias=2.5).to(dtype)
    engine = torch_engine(half)
    assert engine.info.precision == str(dtype).removeprefix("torch.")
    outcomes = run(engine, jobs)
    found = [hypotheses(outcomes[job.id])[0] for job in jobs]
    same = [one.ids == other.ids for one, other in zip(found, expected, strict=True)]
    assert np.mean(same) > 0.6
    for one, other in zip(found, expected, strict=True):
        if one.ids == other.ids:
            assert one.score == pytest.approx(other.score, abs=0.2)


def test_logits_of_half_precision_are_compared_in_float32(
    make_varied_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With products as on GPUs; in bfloat16, the best two would often be equal."""

    def widening(a: torch.Tensor, b: torch.Tensor, *, out_dtype: torch.dtype) -> torch.Tensor:
        return a.to(out_dtype) @ b.to(out_dtype)

    output = make_varied_model(**FAMILY["heads of 36"]).to(torch.bfloat16).output
    states = torch.randn(4096, output.weight.shape[1], generator=torch.manual_seed(1)).bfloat16()
    rounded = decoder_module._logits(output, states)
    monkeypatch.setitem(vars(torch), "mm", widening)
    monkeypatch.setattr(decoder_module, "_WIDENING", {"cpu"})
    logits = decoder_module._logits(output, states)
    assert logits.dtype == torch.float32
    assert torch.equal(logits, output.float()(states.float()))
    best = rounded.topk(2).values
    assert (best[:, 0] == best[:, 1]).any()
    best = logits.topk(2).values
    assert not (best[:, 0] == best[:, 1]).any()


def test_few_searches_with_terms_delay_a_step_of_others(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = draw_edges(model, 1)
    jobs = draw_constrained(model, edges, 12, 2)
    plain = replace(jobs[0], id=100, options=replace(jobs[0].options, constraints=()))
    n_begun: list[int] = []
    steps = constrained_steps

    def counted(*arguments: Any) -> Any:
        n_begun.append(len(jobs))
        return (yield from steps(*arguments))

    monkeypatch.setattr(constrained_module, "constrained_steps", counted)
    engine = torch_engine(model, edges=edges)
    engine.admit([plain, *jobs])
    engine.interrupt()
    outcomes = dict(engine.step())
    engine.interrupt()
    outcomes |= dict(engine.step())
    assert len(n_begun) <= 2 * constrained_module.MAX_BESIDE + len(jobs) * (plain.id in outcomes)
    outcomes |= run(engine, [])
    for job in (plain, *jobs):
        check_same(outcomes[job.id], expected_hypotheses(model, job, edges))
