"""A job that fails in the engine fails alone, and the engine continues."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from model.decoding.hypothesis import SearchOptions
from model.engine.cpu.forward.slots import occupy
from model.engine.cpu.forward.weights import Precision
from model.engine.protocol import Job
from model.errors import NumericalError
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import advance, alone, check_empty, cpu_engine, run
from tests.model.engine.jobs import PRECISIONS, UNTIED, draw_jobs, draw_source, hypotheses
from tests.model.make_model import MakeModel

pytestmark = pytest.mark.usefixtures("impatient")


@PRECISIONS
@pytest.mark.parametrize("d_model", [16, 18])
@pytest.mark.parametrize("spoilt", [np.nan, np.inf])
def test_nan_fails_the_sentence_that_it_is_in_and_no_other(
    make_varied_model: MakeModel, precision: Precision, d_model: int, spoilt: float
) -> None:
    model = make_varied_model(
        d_model=d_model, n_heads=2, source_vocab_size=30, max_length=20, **UNTIED
    )
    engine = cpu_engine(model, precision)
    jobs = draw_jobs(model, 40, seed=5)
    expected = alone(engine, jobs)
    weights = engine._weights
    weights.source_embedding.values[7, 3] = spoilt
    poisoned = {job.id for job in jobs if 7 in job.source_ids}
    assert 5 < len(poisoned) < 35
    for _ in range(2):  # rows, pages and slots with NaN are reused
        outcomes = run(engine, jobs)
        for job_id in poisoned:
            assert isinstance(outcomes.pop(job_id), NumericalError)
        assert outcomes == {job_id: expected[job_id] for job_id in outcomes}
    clean = [job for job in jobs if job.id not in poisoned]
    for job in clean:
        assert run(engine, [job]) == {job.id: expected[job.id]}
    check_empty(engine)


@PRECISIONS
def test_nan_in_one_hypothesis_fails_a_sentence(
    make_varied_model: MakeModel, precision: Precision
) -> None:
    model = make_varied_model(
        eos_bias=-1.0, source_vocab_size=30, target_vocab_size=40, max_length=20, **UNTIED
    )
    engine = cpu_engine(model, precision)
    choose = np.random.default_rng(0)
    options = SearchOptions(beam_size=4, n_best=4, max_target_tokens=8)
    jobs = [Job(n, draw_source(model, choose, 6), options) for n in range(40)]
    expected = run(engine, jobs)
    token_ids = {
        job_id: [one.ids for one in hypotheses(found)] for job_id, found in expected.items()
    }
    fed = {
        job_id: {token for ids in all_ids for token in ids[:7]}
        for job_id, all_ids in token_ids.items()
    }
    token = max(range(40), key=lambda token: sum(token in tokens for tokens in fed.values()))
    engine._weights.target_embedding.values[token] = np.nan
    outcomes = run(engine, jobs)
    meets = {job_id for job_id, tokens in fed.items() if token in tokens}
    assert len(meets) > 5
    for job_id in meets:
        assert isinstance(outcomes.pop(job_id), NumericalError)
    for job_id, outcome in outcomes.items():  # another may have produced it in between
        assert isinstance(outcome, NumericalError) or outcome == expected[job_id]


def raises(error: BaseException, after: int) -> Callable[..., Any]:
    """Return a replacement of `occupy` that raises after this many calls."""
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
        ("model.engine.cpu.search.occupy", 0),
        ("model.engine.cpu.search.occupy", 2),
        ("model.engine.cpu.engine.search.run", 0),
        ("model.engine.cpu.engine.outcome_of_rows", 0),
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
    assert run(engine, jobs) == expected
    check_empty(engine)
