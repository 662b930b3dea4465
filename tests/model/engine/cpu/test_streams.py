"""Partial results of engines with small random models."""

from dataclasses import replace

import numpy as np
import pytest

from model.decoding.hypothesis import Outcome, SearchOptions
from model.engine.cpu.forward.slots import MAX_BEAM, make_pages, make_slots
from model.engine.cpu.hypotheses import stable_prefix
from model.engine.eager import EagerEngine
from model.engine.protocol import Engine, Job
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import advance, cpu_engine, pack_model, run
from tests.model.engine.jobs import (
    FAMILY,
    FOREIGN_RULES,
    RULES,
    draw_jobs,
    draw_source,
    hypotheses,
)
from tests.model.make_model import MakeModel

pytestmark = pytest.mark.usefixtures("impatient")

SHAPES = ("post-norm, ReLU", "a recurrent decoder")


def streamed(
    engine: Engine, jobs: list[Job]
) -> tuple[dict[int, Outcome], dict[int, list[list[int]]]]:
    """Return outcomes and partial results of jobs, one of which joins at each step."""
    waiting = [replace(job, stream=True) for job in jobs]
    outcomes: dict[int, Outcome] = {}
    prefixes: dict[int, list[list[int]]] = {job.id: [] for job in jobs}
    while waiting or engine.busy:
        if waiting and engine.can_admit(waiting[0]):
            engine.admit([waiting.pop(0)])
        outcomes |= dict(engine.step())
        for job_id, ids in engine.progress():
            assert job_id not in outcomes
            prefixes[job_id].append(ids)
    return outcomes, prefixes


@pytest.mark.parametrize("seed", [0, 2, 3])
@pytest.mark.parametrize(
    ("shape", "eos_bias"), [(SHAPES[0], 2.5), (SHAPES[0], -1), (SHAPES[1], -1)]
)
def test_progress_is_a_growing_prefix(
    make_varied_model: MakeModel, shape: str, eos_bias: float, seed: int
) -> None:
    model = make_varied_model(seed=seed, eos_bias=eos_bias, **FAMILY[shape])
    jobs = draw_jobs(model, 20, seed)
    narrow = [SearchOptions(2, 1, one.options.length_penalty) for one in jobs]
    jobs += [
        Job(20 + one.id, one.source_ids, options) for one, options in zip(jobs, narrow, strict=True)
    ]
    by_others = draw_jobs(model, 20, seed, list(FOREIGN_RULES.values()))
    jobs += [replace(one, id=40 + one.id) for one in by_others]
    outcomes, prefixes = streamed(cpu_engine(model, "float32"), jobs)
    assert outcomes == run(cpu_engine(model, "float32"), jobs)
    for job in jobs:
        ids = hypotheses(outcomes[job.id])[0].ids
        lengths = [len(one) for one in prefixes[job.id]]
        assert lengths == sorted(set(lengths))
        assert all(tuple(one) == ids[: len(one)] for one in prefixes[job.id])
    assert sum(bool(prefixes[job.id]) for job in jobs if job.options.beam_size > 1) >= 3


@pytest.mark.parametrize("seed", [0, 2, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_reference_streams_the_same(
    make_varied_model: MakeModel, shape: str, seed: int
) -> None:
    model = make_varied_model(seed=seed, eos_bias=0.5, **FAMILY[shape])
    for job in draw_jobs(model, 20, seed, list(RULES.values())):
        results = [
            streamed(cpu_engine(model, "float32"), [job]),
            streamed(EagerEngine(model), [job]),
        ]
        assert results[0][1] == results[1][1]


def test_a_greedy_search_streams_every_token_at_once(endless: Transformer) -> None:
    engine = cpu_engine(endless, "int8")
    source = draw_source(endless, np.random.default_rng(1), 6)
    engine.admit([Job(1, source, SearchOptions(1, max_target_tokens=9), stream=True)])
    for n in range(1, 9):
        assert engine.step() == []
        [(job_id, ids)] = engine.progress()
        assert (job_id, len(ids)) == (1, n)
        assert engine.progress() == []
    [(_, outcome)] = engine.step()
    assert list(hypotheses(outcome)[0].ids[:8]) == ids
    assert engine.progress() == []


def test_only_streaming_jobs_report_progress_and_shorten_steps(endless: Transformer) -> None:
    engine = cpu_engine(endless, "int8")
    source = draw_source(endless, np.random.default_rng(1), 6)
    options = SearchOptions(1, max_target_tokens=20)
    engine.admit([Job(1, source, options)])
    advance(engine)
    assert engine.progress() == []
    engine.admit([Job(2, source, options, stream=True)])
    assert engine.step() == []
    assert [one.job_id for one in engine.progress()] == [2]
    engine.cancel([2])
    assert [one.job_id for one in engine.step()] == [1]  # in one step
    assert engine.progress() == []


@pytest.mark.parametrize(
    ("living", "finished", "n_best", "agreed"),
    [
        ([[5]], [], 1, [5]),
        ([[5], [6]], [], 1, []),
        ([[5, 6, 7], [5, 6, 8]], [], 1, [5, 6]),
        ([[5, 6, 7], [5, 9, 7]], [], 1, [5]),
        ([[5, 6, 7]], [], 1, [5, 6, 7]),
        ([[5, 6, 7], [5, 6, 8]], [[5, 1]], 1, [5]),
        ([[5, 6, 7], [5, 6, 8]], [[5, 6, 1]], 1, [5, 6]),
        ([[5, 6, 7], [5, 6, 8]], [[5, 6, 1], [9, 1]], 1, [5, 6]),  # the second must not be best
        ([[5, 6, 7], [5, 6, 8]], [[5, 6, 1], [9, 1]], 2, []),
        ([[5, 6, 7], [5, 6, 8]], [[1]], 1, []),
    ],
)
def test_agreed_by_hand(
    model: Transformer,
    living: list[list[int]],
    finished: list[list[int]],
    n_best: int,
    agreed: list[int],
) -> None:
    """1 is the end of sentence."""
    slots, pages = make_slots(2, 20), make_pages(pack_model(model, "float32"), 40)
    slot = 1
    slots.length[slot], slots.n_live[slot], slots.n_best[slot] = len(living[0]), len(living), n_best
    for lane, tokens in enumerate(living):
        for t, token in enumerate([0, *tokens[:-1]]):
            slots.path[slot * MAX_BEAM + lane, t] = position = 100 * lane + t
            pages.token[position] = token
        slots.latest[slot, lane] = tokens[-1]
    slots.score[slot] = -np.inf
    slots.limit[slot] = 9
    for place, tokens in enumerate(finished):
        slots.score[slot, place] = -place
        slots.n_tokens[slot, place] = len(tokens)
        slots.tokens[slot, place, : len(tokens)] = tokens
    assert stable_prefix(slots, slot, pages, eos_id=1) == agreed
