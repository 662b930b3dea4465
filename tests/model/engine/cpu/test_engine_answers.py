"""The engine answers as the reference, with the same bits in any batch."""

import threading

import numpy as np
import pytest

from model.decoding.hypothesis import Outcome, SearchOptions
from model.engine.cpu import engine as engine_module
from model.engine.cpu.capacity import MAX_ROWS, MAX_SENTENCES
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.forward.weights import Precision
from model.engine.protocol import Job
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import (
    alone,
    check_empty,
    check_pages,
    cpu_engine,
    run,
    run_concurrently,
)
from tests.model.engine.jobs import (
    FAMILY,
    FOREIGN_RULES,
    PRECISIONS,
    RULES,
    check_same,
    draw_jobs,
    every_option,
    hypotheses,
    reference,
)
from tests.model.make_model import MakeModel

pytestmark = pytest.mark.usefixtures("impatient")
GREEDY = SearchOptions(beam_size=1)


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("eos_bias", [2.5, 0.5], ids=["short", "long"])
def test_float32_equals_the_reference(
    make_varied_model: MakeModel, name: str, eos_bias: float
) -> None:
    model = make_varied_model(**FAMILY[name], eos_bias=eos_bias)
    engine = cpu_engine(model, "float32")
    jobs = every_option(model, seed=len(name))
    outcomes = run(engine, jobs)
    for job in jobs:
        check_same(outcomes[job.id], reference(model, job))
    check_empty(engine)


@pytest.mark.parametrize("name", FAMILY)
def test_other_rules_equal_the_reference(make_varied_model: MakeModel, name: str) -> None:
    model = make_varied_model(**FAMILY[name], eos_bias=1.5)
    engine = cpu_engine(model, "float32")
    jobs = draw_jobs(model, 2 * len(FOREIGN_RULES), len(name), list(FOREIGN_RULES.values()))
    outcomes = run(engine, jobs)
    for job in jobs:
        check_same(outcomes[job.id], reference(model, job))
    check_empty(engine)


@pytest.mark.parametrize("rule", FOREIGN_RULES)
@pytest.mark.parametrize("name", ["pre-norm, GELU", "a tiny vocabulary"])
def test_each_rule_equals_the_reference(make_varied_model: MakeModel, name: str, rule: str) -> None:
    model = make_varied_model(**FAMILY[name], eos_bias=2.5)
    engine = cpu_engine(model, "float32")
    jobs = every_option(model, len(rule), RULES[rule])
    outcomes = run(engine, jobs)
    for job in jobs:
        check_same(outcomes[job.id], reference(model, job))


def test_the_family_gives_many_answers_long_and_short(make_varied_model: MakeModel) -> None:
    lengths = []
    for eos_bias in (2.5, 0.5):
        model = make_varied_model(**FAMILY["pre-norm, GELU"], eos_bias=eos_bias)
        outcomes = run(cpu_engine(model, "float32"), every_option(model, seed=1))
        found = [one for outcome in outcomes.values() for one in hypotheses(outcome)]
        assert len({one.ids for one in found}) > len(found) / 2
        assert {one.capped for one in found} == {True, False}
        lengths.append(np.mean([len(one.ids) for one in found]))
    assert lengths[0] < 8
    assert lengths[1] > 16  # more than a page


def test_int8_is_near_the_reference(make_varied_model: MakeModel) -> None:
    model = make_varied_model(**FAMILY["heads of 36"], eos_bias=2.5)
    jobs = [Job(n, job.source_ids, GREEDY) for n, job in enumerate(draw_jobs(model, 40, seed=1))]
    outcomes = run(cpu_engine(model, "int8"), jobs)
    same = [reference(model, job)[0].ids == hypotheses(outcomes[job.id])[0].ids for job in jobs]
    assert np.mean(same) > 0.8


# The same bits in any batch


@PRECISIONS
@pytest.mark.parametrize("seed", range(4))
def test_answers_are_the_same_bits_in_any_batch(
    model: Transformer, precision: Precision, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "STEP_TOKENS", (1, 3)[seed % 2])
    choose = np.random.default_rng(seed)
    engine = cpu_engine(model, precision)
    jobs = draw_jobs(model, 60, 10 + seed, list(RULES.values()))
    expected = alone(engine, jobs)
    result = run_concurrently(
        engine, jobs, choose, leaving=0.3, after_step=lambda: check_pages(engine)
    )
    assert result.max_in_flight > 10
    assert result.cancelled
    assert result.outcomes.keys() == {job.id for job in jobs} - result.cancelled
    assert result.outcomes == {job_id: expected[job_id] for job_id in result.outcomes}
    check_empty(engine)


@PRECISIONS
def test_answers_are_the_same_bits_all_at_once(model: Transformer, precision: Precision) -> None:
    engine = cpu_engine(model, precision)
    jobs = draw_jobs(model, 150, 2, list(RULES.values()))
    assert run(engine, jobs) == alone(engine, jobs)
    assert sum(len(job.source_ids) for job in jobs[:MAX_SENTENCES]) > 2 * MAX_ROWS


@PRECISIONS
def test_two_engines_share_only_weights(model: Transformer, precision: Precision) -> None:
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
