from dataclasses import replace
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from model.decoding.constraints import Constraint, Wording
from model.decoding.hypothesis import SearchOptions
from model.decoding.shortlist import Shortlist
from model.engine.eager import EagerEngine
from model.engine.explanations import AttentionRow
from model.engine.protocol import EngineInfo, Job
from model.engine.torch import engine as engine_module
from model.engine.torch import slots as slots_module
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import run
from tests.model.engine.jobs import check_same, draw_jobs, limited
from tests.model.engine.torch.running import (
    expected_hypotheses,
    slots_in_use,
    token_by_token,
    tokens_of,
    torch_engine,
)
from tests.model.make_model import MakeModel


def test_info_and_memory(model: Transformer) -> None:
    engine = torch_engine(model)
    assert engine.info == EngineInfo("torch", "cpu", "float32", torch.get_num_threads())
    before = engine.memory
    assert before.weights > EagerEngine(model).memory.weights
    run(engine, draw_jobs(model, 5, 1))
    assert engine.memory.weights == before.weights
    assert engine.memory.work > 0


def test_the_short_overtake_the_long(endless: Transformer) -> None:
    engine = torch_engine(endless)
    engine.admit([limited(0, 36, beam=4)])
    engine.interrupt()
    assert engine.step() == []
    for job_id in range(1, 4):
        engine.admit([limited(job_id, 3, beam=4)])
        assert [done.job_id for done in engine.step()] == [job_id]
    assert [done.job_id for done in engine.step()] == [0]


def test_an_interrupted_step_is_a_token_and_joining_takes_none(endless: Transformer) -> None:
    engine = torch_engine(endless)
    engine.admit([limited(0, 3), limited(1, 1)])
    engine.interrupt()
    assert engine.step() == [(1, ANY)]
    engine.interrupt()
    assert engine.step() == []
    engine.admit([limited(2, 1)])
    assert sorted(done.job_id for done in engine.step()) == [0, 2]


def test_cancelled_jobs_are_gone_before_the_next_token(model: Transformer) -> None:
    jobs = draw_jobs(model, 12, 4)
    expected = tokens_of(run(torch_engine(model), jobs))
    engine = torch_engine(model)
    engine.admit(jobs[:6])
    engine.interrupt()
    early = tokens_of(dict(engine.step()))
    engine.admit(jobs[6:])
    dropped = [*range(3), 8, 99]  # in flight, waiting, unknown
    engine.cancel(dropped)
    outcomes = early | tokens_of(token_by_token(engine))
    assert outcomes == {job_id: expected[job_id] for job_id in outcomes}
    assert outcomes.keys() >= {3, 4, 5, 6, 7, 9, 10, 11}
    assert 8 not in outcomes


def test_an_invalid_token_is_refused(model: Transformer) -> None:
    engine = torch_engine(model)
    for source, options in (
        ((5, 150), SearchOptions()),
        ((), SearchOptions()),
        ((5,) * 41, SearchOptions()),
        ((5, 1), SearchOptions(first_id=150)),
    ):
        with pytest.raises(
            ValueError, match=r"outside the vocabulary of 150|source tokens: 1 … 40"
        ):
            engine.admit([Job(0, source, options)])
    assert not engine.busy


def test_jobs_within_the_bounds_are_admitted(model: Transformer) -> None:
    engine = torch_engine(model, max_batch_tokens=60)
    long = Job(0, (5,) * 39 + (1,), SearchOptions(1))
    assert engine.can_admit(long)
    engine.admit([long])
    assert not engine.can_admit(Job(1, (5, 1), SearchOptions(1)))  # 2 × 40, padded
    engine = torch_engine(model)
    assert engine.can_admit(Job(0, (5, 1), SearchOptions(300)))
    engine.admit([Job(0, (5, 1), SearchOptions(250))])
    assert engine.can_admit(Job(1, (5, 1), SearchOptions(6)))
    assert not engine.can_admit(Job(1, (5, 1), SearchOptions(7)))


def test_jobs_beyond_the_capacity_are_searched_in_turns(model: Transformer) -> None:
    jobs = [Job(n, (5 + n, 6, 1), SearchOptions(100, max_target_tokens=4)) for n in range(5)]
    engine = torch_engine(model)
    engine.admit(jobs)
    outcomes = run(engine, [])
    for job in jobs:
        check_same(outcomes[job.id], expected_hypotheses(model, job))


def test_those_that_stay_move_to_a_smaller_bucket(endless: Transformer) -> None:
    jobs = [
        limited(n, 30 if n in (9, 15) else 2, beam=2, source=(5, 3 + n % 9, 1)) for n in range(16)
    ]
    engine = torch_engine(endless)
    engine.admit(jobs)
    engine.interrupt()
    engine.step()
    assert slots_in_use(engine) == [16]
    assert len(engine.step()) == 14
    engine.interrupt()
    engine.step()
    assert slots_in_use(engine) == [2]
    outcomes = dict(engine.step())
    for job_id in (9, 15):
        check_same(outcomes[job_id], expected_hypotheses(endless, jobs[job_id]))


def test_idle_batches_are_dropped_but_the_latest(model: Transformer) -> None:
    engine = torch_engine(model)
    for beam in (1, 2, 3, 4, 2):
        run(engine, [Job(0, (5, 6, 1), SearchOptions(beam))])
    assert [kind.beam for kind in engine._batches] == [4, 2]


def test_long_sentences_have_slots_of_their_own_which_go_with_them(
    endless: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots_module, "PREPARED_POSITIONS", 16)
    engine = torch_engine(endless)
    short, long = limited(0, 9, beam=2, source=(5, 3, 1)), limited(1, 17, beam=2, source=(6, 3, 1))
    engine.admit([short, long])
    outcomes = dict(engine.step())
    assert [kind.is_long for kind in engine._batches] == [False, True]
    outcomes |= run(engine, [])
    for job in (short, long):
        check_same(outcomes[job.id], expected_hypotheses(endless, job))
    [(kind, batch)] = engine._batches.items()
    assert not kind.is_long
    assert batch._state.sizes.target <= 16


class Syncs(TorchDispatchMode):
    """Counts operations that make the host wait for the device, by name."""

    NAMES = ("_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal", "unique")

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        if any(func.__name__.startswith(name) for name in self.NAMES):
            self.found.append(func.__name__)
        return func(*args, **kwargs or {})


def test_the_counter_of_waits_counts() -> None:
    with Syncs() as syncs:
        x = torch.tensor([1.0, 2.0])
        float(x[0])
        x[x > 1] = 0
    assert syncs.found


def test_the_host_waits_once_per_token_and_for_nothing_else(model: Transformer) -> None:
    engine = torch_engine(model)
    jobs = [Job(n, (5 + n, 6, 1), SearchOptions(4, 2, max_target_tokens=9)) for n in range(9)]
    jobs.append(Job(9, (5, 1), SearchOptions(4, first_id=30), stream=True))
    engine.admit(jobs)
    n_tokens = 0
    with Syncs() as syncs:
        while engine.busy:
            engine.interrupt()
            engine.step()
            engine.progress()
            n_tokens += 1
    assert syncs.found == []
    assert engine._reader.n_reads == n_tokens > 8


def test_single_passes_are_the_references(model: Transformer) -> None:
    engine, reference = torch_engine(model), EagerEngine(model)
    pair = (5, 6, 1), (7, 8, 1)
    for kind in ("encoder", "decoder", "cross"):
        weights = engine.explain(*pair, kind)
        np.testing.assert_array_equal(weights, reference.explain(*pair, kind))
    options = SearchOptions(2)
    [ours], [theirs] = (one.score([pair], options) for one in (engine, reference))
    np.testing.assert_array_equal(ours, theirs)
    at = AttentionRow("cross", 0, 1)
    np.testing.assert_array_equal(
        engine.project(*pair, at).query, reference.project(*pair, at).query
    )
    assert engine.trace(pair[0], options) == reference.trace(pair[0], options)


def test_graphs_are_used_where_there_are_any(endless: Transformer) -> None:
    n_recorded, n_replayed = 0, 0

    def record(work: Any) -> Any:
        nonlocal n_recorded
        n_recorded += 1

        def replay() -> None:
            nonlocal n_replayed
            n_replayed += 1
            work()

        return replay

    engine = torch_engine(endless, capture=record)
    jobs = [limited(n, 30, beam=2, source=(5, 3 + n, 1)) for n in range(3)]
    outcomes = run(engine, jobs)
    for job in jobs:
        check_same(outcomes[job.id], expected_hypotheses(endless, job))
    assert 0 < n_recorded < 6
    assert n_replayed > 20


def test_the_ceiling_rises_again(
    make_varied_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "RECOVERY_STEPS", 4)
    engine = torch_engine(make_varied_model(eos_bias=-100))
    engine._ceiling = 1
    run(engine, [limited(n, 5) for n in range(3)])
    assert engine._ceiling >= 4


def test_shortlists_are_ignored_by_every_kind_of_search(model: Transformer) -> None:
    config = model.config
    nothing = Shortlist(
        3, np.zeros(config.source_vocab_size + 1, np.uint64), np.zeros(0, np.uint32),
        config.target_vocab_size, is_shared=False,
    )  # fmt: skip
    engine, term = torch_engine(model), (Constraint((Wording((5,)),)),)
    for job in draw_jobs(model, 6, seed=8):
        for constraints in ((), term):
            options = replace(job.options, constraints=constraints)
            listed = replace(options, shortlist=nothing)
            found = [run(engine, [replace(job, options=one)])[job.id] for one in (options, listed)]
            assert tokens_of({0: found[0]}) == tokens_of({0: found[1]})
            traces = [engine.trace(job.source_ids, one) for one in (options, listed)]
            assert traces[0].hypotheses == traces[1].hypotheses
