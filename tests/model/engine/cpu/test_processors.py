"""Logits processors and sampling: both engines answer as the reference, in any batch."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from model.decoding.hypothesis import SearchOptions
from model.decoding.processors import LogitsProcessors
from model.decoding.rules import HuggingFaceRule, Rule
from model.engine.protocol import Engine, Job
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import alone, check_empty, cpu_engine, run
from tests.model.engine.jobs import FAMILY, check_same, draw_source, hypotheses, reference
from tests.model.engine.torch.running import torch_engine
from tests.model.make_model import MakeModel

pytestmark = pytest.mark.usefixtures("impatient")

PROCESSORS = (
    LogitsProcessors(min_length=4),
    LogitsProcessors(no_repeat_ngram_size=1),
    LogitsProcessors(no_repeat_ngram_size=2),
    LogitsProcessors(no_repeat_ngram_size=3, min_length=1),
    LogitsProcessors(repetition_penalty=1.8),
    LogitsProcessors(repetition_penalty=0.5),
    LogitsProcessors(bad_words_ids=((4,), (5, 6), (7, 7, 8))),
    LogitsProcessors(3, 2, 1.2, ((9,), (10, 11))),
)
RULES: tuple[Rule | None, ...] = (
    None, HuggingFaceRule(), HuggingFaceRule("never", renormalise=True), HuggingFaceRule(True)
)  # fmt: skip
SHAPES = ("post-norm, ReLU", "a large vocabulary", "positions from 2 on")


def jobs_of(model: Transformer, seed: int) -> list[Job]:
    choose = np.random.default_rng(seed)
    grid = [(one, rule) for one in PROCESSORS for rule in RULES]
    return [
        Job(
            number,
            draw_source(model, choose, int(choose.integers(2, 12))),
            SearchOptions(
                (1, 2, 4)[number % 3], max_target_tokens=14, rule=rule, processors=processors,
                first_id=6 if number % 5 == 0 else None,
            ),
        )
        for number, (processors, rule) in enumerate(grid)
    ]  # fmt: skip


def float_engine(model: Transformer) -> Engine:
    return cpu_engine(model, "float32")


@pytest.mark.parametrize("engine_of", [float_engine, torch_engine], ids=["cpu", "torch"])
@pytest.mark.parametrize("name", SHAPES)
def test_engines_equal_the_reference(
    make_varied_model: MakeModel, name: str, engine_of: Callable[[Any], Engine]
) -> None:
    model = make_varied_model(**FAMILY[name], eos_bias=1.0)
    jobs = jobs_of(model, len(name))
    outcomes = run(engine_of(model), jobs)
    for job in jobs:
        check_same(outcomes[job.id], reference(model, job))
    plain = replace(jobs[0].options, processors=LogitsProcessors())
    changed = [
        reference(model, job) != reference(model, replace(job, options=plain)) for job in jobs
    ]
    assert sum(changed) > len(jobs) / 2


def test_int8_obeys_the_processors(make_varied_model: MakeModel) -> None:
    model = make_varied_model(**FAMILY[SHAPES[0]], eos_bias=1.0)
    engine = cpu_engine(model, "int8")
    jobs = jobs_of(model, 3)
    outcomes = run(engine, jobs)
    for job in jobs:
        processors = job.options.processors
        for one in hypotheses(outcomes[job.id]):
            ids, given = one.ids, job.options.n_given
            assert one.capped or processors.may_end(len(ids), given)
            for n in range(given, len(ids)):
                assert ids[n] not in set(processors.forbidden((), ids[:n]))
        assert alone(engine, [job])[job.id] == outcomes[job.id]
    check_empty(engine)


@pytest.mark.parametrize("engine_of", [float_engine, torch_engine], ids=["cpu", "torch"])
def test_a_seed_gives_the_same_sample_in_any_batch(
    make_varied_model: MakeModel, engine_of: Callable[[Any], Engine]
) -> None:
    model = make_varied_model(**FAMILY["a large vocabulary"], eos_bias=1.0)
    choose = np.random.default_rng(2)
    sources = [draw_source(model, choose, 5 + number) for number in range(4)]
    sampled = [
        Job(
            number,
            sources[number % 4],
            SearchOptions(1, max_target_tokens=12, temperature=1.5, seed=number // 4,
                          processors=LogitsProcessors(no_repeat_ngram_size=2)),
        )
        for number in range(12)
    ]  # fmt: skip
    others = [
        Job(100 + number, sources[number % 4], SearchOptions(2, max_target_tokens=9))
        for number in range(20)
    ]
    engine = engine_of(model)
    together = run(engine, [*sampled[:6], *others, *sampled[6:]])
    for job in sampled:
        check_same(together[job.id], reference(model, job))
        assert alone(engine, [job])[job.id] == together[job.id]
    for job in others:
        check_same(together[job.id], reference(model, job))
    drawn = {hypotheses(together[job.id])[0].ids for job in sampled}
    assert len(drawn) > 9
