"""Constrained search answers as the reference, with the same bits in any batch."""

import itertools

import numpy as np
import pytest
import torch

from model.decoding.constrained import constrained_search
from model.decoding.constraints import (
    ANYWHERE,
    FIRST,
    GLUED,
    MAX_CONSTRAINTS,
    Constraint,
    PieceEdges,
    Wording,
)
from model.decoding.hypothesis import Outcome, SearchOptions
from model.engine.cpu import capacity
from model.engine.cpu.capacity import MAX_ROWS
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.forward.weights import Precision
from model.engine.protocol import Job
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import (
    alone,
    check_empty,
    check_pages,
    cpu_engine,
    pack_model,
    run,
)
from tests.model.engine.jobs import (
    FAMILY,
    PRECISIONS,
    RULES,
    check_same,
    draw_jobs,
    draw_source,
    hypotheses,
)
from tests.model.make_model import MakeModel

pytestmark = pytest.mark.usefixtures("impatient")


def draw_edges(model: Transformer, seed: int) -> PieceEdges:
    choose = np.random.default_rng(seed)
    n = model.config.target_vocab_size
    return PieceEdges(choose.random(n) < 0.4, choose.random(n) < 0.4)


def draw_constraints(
    model: Transformer, edges: PieceEdges, choose: np.random.Generator, n: int
) -> tuple[Constraint, ...]:
    """Draw terms of one to three tokens in up to three wordings, sometimes with one repeated."""
    special = {model.config.pad_id, model.config.eos_id}
    usable = [token for token in range(model.config.target_vocab_size) if token not in special]
    starts = [token for token in usable if not edges.before[token]]

    def wording(where: int) -> Wording:
        first = int(choose.choice(starts if where == ANYWHERE else usable))
        rest = choose.choice(usable, choose.integers(0, 3)).tolist()
        return Wording((first, *rest), where, bool(choose.random() < 0.7))

    found: list[Constraint] = []
    for _ in range(n):
        if found and choose.random() < 0.2:
            found.append(found[0])
        else:
            others = [where for where in (GLUED, FIRST) if choose.random() < 0.5]
            found.append(Constraint(tuple(wording(where) for where in (ANYWHERE, *others))))
    return tuple(found)


def draw_constrained(
    model: Transformer, edges: PieceEdges, n_jobs: int, seed: int, most: int = 4
) -> list[Job]:
    choose = np.random.default_rng(seed)
    limits = [3, 12, model.config.max_length, None]
    rules = list(RULES.values())
    jobs = []
    for number in range(n_jobs):
        beam = int(choose.choice((1, 2, 4, 8)))
        options = SearchOptions(
            beam, int(choose.integers(1, beam + 1)), float(choose.choice((0, 0.6, 2))),
            limits[choose.integers(len(limits))], rules[number % len(rules)],
            constraints=draw_constraints(model, edges, choose, int(choose.integers(1, most + 1))),
        )  # fmt: skip
        source = draw_source(model, choose, int(choose.integers(1, 12)))
        jobs.append(Job(1000 + number, source, options))
    return jobs


def edged_engine(model: Transformer, precision: Precision, edges: PieceEdges) -> CpuEngine:
    return CpuEngine(model.config, pack_model(model, precision), edges)


@pytest.mark.parametrize("eos_bias", [2.5, 0.5], ids=["short", "long"])
@pytest.mark.parametrize("shape", ["pre-norm, ReLU", "post-norm, ReLU", "a recurrent decoder"])
def test_float32_equals_the_reference(
    make_varied_model: MakeModel, eos_bias: float, shape: str
) -> None:
    model = make_varied_model(
        **FAMILY[shape], eos_bias=eos_bias, source_vocab_size=60, target_vocab_size=60
    )
    edges = draw_edges(model, 1)
    engine = edged_engine(model, "float32", edges)
    jobs = draw_constrained(model, edges, 60, seed=2)
    outcomes = run(engine, jobs)
    for job in jobs:
        source = torch.tensor([job.source_ids])
        check_same(outcomes[job.id], constrained_search(model, source, job.options, edges))
    check_empty(engine)


def test_the_largest_number_of_terms_is_produced(make_varied_model: MakeModel) -> None:
    model = make_varied_model(source_vocab_size=60, target_vocab_size=60, max_length=80)
    edges = PieceEdges.none(60)
    terms = tuple(Constraint((Wording((5 + n, 25 + n)),)) for n in range(MAX_CONSTRAINTS + 2))
    for beam in (1, 4, 16):
        job = Job(0, (5, 6, 1), SearchOptions(beam, constraints=terms))
        outcome = hypotheses(run(edged_engine(model, "float32", edges), [job])[0])
        check_same(
            outcome, constrained_search(model, torch.tensor([[5, 6, 1]]), job.options, edges)
        )
        tokens = " ".join(map(str, outcome[0].ids))
        assert all(f"{5 + n} {25 + n}" in tokens for n in range(MAX_CONSTRAINTS))


@PRECISIONS
def test_answers_are_the_same_bits_in_any_batch(model: Transformer, precision: Precision) -> None:
    edges = draw_edges(model, 3)
    engine = edged_engine(model, precision, edges)
    constrained = draw_constrained(model, edges, 25, seed=4)
    free = draw_jobs(model, 25, 5, list(RULES.values()))
    expected = alone(engine, [*constrained, *free])
    assert expected[free[0].id] == alone(cpu_engine(model, precision), free[:1])[free[0].id]
    choose = np.random.default_rng(6)
    together = [*constrained, *free]
    waiting = [together[at] for at in choose.permutation(len(together))]
    outcomes = dict[int, Outcome]()
    while waiting or engine.busy:
        while waiting and engine.can_admit(waiting[0]) and choose.random() < 0.8:
            engine.admit([waiting.pop(0)])
        engine.interrupt()
        outcomes |= dict(engine.step())
        check_pages(engine)
    assert outcomes == expected
    check_empty(engine)


def test_terms_reserve_capacity(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "MAX_PAGES", 10_000)
    engine = cpu_engine(model, "int8")
    terms = tuple(Constraint((Wording((5 + n,)),)) for n in range(3))
    job = Job(0, (5, 6, 1), SearchOptions(4, constraints=terms))
    n_fit = 0
    while engine.can_admit(Job(n_fit, job.source_ids, job.options)):
        engine.admit([Job(n_fit, job.source_ids, job.options)])
        n_fit += 1
    assert n_fit == MAX_ROWS // 16  # 4 × (1 + 3) + 3, but no more than 16
    engine.cancel(range(n_fit))
    check_empty(engine)


def test_wordings_longer_than_any_translation_are_left_out(model: Transformer) -> None:
    long, short = Wording((5,) * 41), Wording((6, 7))
    jobs = [
        Job(n, (5, 6, 1), SearchOptions(2, constraints=constraints))
        for n, constraints in enumerate([(), (Constraint((long,)),), (Constraint((long, short)),)])
    ]
    outcomes = run(cpu_engine(model, "int8"), jobs)
    free, unmet, met = (hypotheses(outcomes[job.id]) for job in jobs)
    assert unmet == free
    assert (6, 7) in itertools.pairwise(met[0].ids)
