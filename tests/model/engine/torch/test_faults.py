"""NaN and infinity fail only the sentence that contains them."""

import numpy as np
import pytest
import torch

from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Job
from model.errors import NumericalError
from tests.model.engine.cpu.running import run
from tests.model.engine.jobs import RULES, UNTIED, draw_jobs, draw_source, hypotheses
from tests.model.engine.torch.running import tokens_of, torch_engine
from tests.model.make_model import MakeModel


@pytest.mark.parametrize("spoilt", [np.nan, np.inf])
def test_nan_in_a_source(make_varied_model: MakeModel, spoilt: float) -> None:
    model = make_varied_model(source_vocab_size=30, max_length=20, **UNTIED)
    jobs = draw_jobs(model, 30, 5, list(RULES.values()))
    expected = tokens_of(run(torch_engine(model), jobs))
    with torch.no_grad():
        model.source_embedding.weight[7, 3] = spoilt
    poisoned = {job.id for job in jobs if 7 in job.source_ids}
    assert 3 < len(poisoned) < 27
    engine = torch_engine(model)
    for _ in range(2):  # slots with NaN are reused
        outcomes = run(engine, jobs)
        for job_id in poisoned:
            if jobs[job_id].options.max_target_tokens != 1:  # a forced end needs no model
                assert isinstance(outcomes[job_id], NumericalError)
            outcomes.pop(job_id)
        assert tokens_of(outcomes) == {job_id: expected[job_id] for job_id in outcomes}


def test_nan_in_the_embedding_of_a_produced_token(make_varied_model: MakeModel) -> None:
    model = make_varied_model(
        eos_bias=-1.0, source_vocab_size=30, target_vocab_size=40, max_length=20, **UNTIED
    )
    choose = np.random.default_rng(0)
    options = SearchOptions(beam_size=4, n_best=4, max_target_tokens=8)
    jobs = [Job(n, draw_source(model, choose, 6), options) for n in range(20)]
    expected = run(torch_engine(model), jobs)
    fed = {
        job_id: {token for one in hypotheses(found) for token in one.ids[:7]}
        for job_id, found in expected.items()
    }
    often = [sum(token in tokens for tokens in fed.values()) for token in range(40)]
    token = min(range(40), key=lambda token: abs(often[token] - 5))
    with torch.no_grad():
        model.target_embedding.weight[token] = np.nan
    meets = {job_id for job_id, tokens in fed.items() if token in tokens}
    assert 1 < len(meets) < 15
    engine = torch_engine(model)
    for _ in range(2):
        outcomes = run(engine, jobs)
        for job_id, outcome in outcomes.items():  # other sentences may have produced it in between
            assert isinstance(outcome, NumericalError) or (
                job_id not in meets and tokens_of({0: outcome}) == tokens_of({0: expected[job_id]})
            )
    clean = next(job for job in jobs if isinstance(outcomes[job.id], list))
    assert tokens_of(run(engine, [clean])) == {clean.id: tokens_of(expected)[clean.id]}
