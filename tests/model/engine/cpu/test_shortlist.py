from dataclasses import replace

import numpy as np
import pytest
import torch

from model.decoding.constrained import constrained_search
from model.decoding.constraints import Constraint, PieceEdges, Wording
from model.decoding.hypothesis import SearchOptions
from model.decoding.shortlist import Shortlist
from model.decoding.tracing import traced_search
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.forward.weights import Precision, pack
from model.engine.protocol import Job
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import alone, cpu_engine, run, run_concurrently
from tests.model.engine.jobs import (
    FAMILY,
    FOREIGN_RULES,
    PRECISIONS,
    check_same,
    draw_jobs,
    draw_source,
    hypotheses,
    reference,
)
from tests.model.make_model import MakeModel

LARGE = FAMILY["a large vocabulary"] | {"output_bias": True}


def draw_shortlist(model: Transformer, seed: int = 0) -> Shortlist:
    choose = np.random.default_rng(seed)
    config = model.config
    n_source, n_target = config.source_vocab_size, config.target_vocab_size
    most = max(2, n_target // 40)
    lists = [choose.choice(n_target, choose.integers(1, most)) for _ in range(n_source)]
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.uint64)
    ids = np.concatenate(lists).astype(np.uint32)
    return Shortlist(3, offsets, ids, n_target, config.share_embeddings)


def with_shortlist(jobs: list[Job], shortlist: Shortlist, every: int = 1) -> list[Job]:
    """Give the shortlist to one job in `every`."""
    return [
        replace(job, options=replace(job.options, shortlist=shortlist)) if i % every == 0 else job
        for i, job in enumerate(jobs)
    ]


@PRECISIONS
@pytest.mark.parametrize("shape", [LARGE, *list(FAMILY.values())[5:8], FAMILY["ids elsewhere"]])
def test_the_search_is_the_references(
    make_model: MakeModel, shape: dict[str, object], precision: Precision
) -> None:
    model = make_model(**shape)
    if precision == "int8":  # whose weights are then whole multiples: the same in float32
        model = rounded(model)
    engine = cpu_engine(model, "float32")
    rules = [None, *FOREIGN_RULES.values()]
    jobs = with_shortlist(draw_jobs(model, 12, seed=1, rules=rules), draw_shortlist(model))
    for job in jobs:
        check_same(run(engine, [job])[job.id], reference(model, job))


def rounded(model: Transformer) -> Transformer:
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                scale = parameter.abs().max() / 127
                parameter.copy_((parameter / scale).round() * scale)
    return model


@PRECISIONS
def test_a_result_has_the_same_bits_alone_and_with_others(
    make_model: MakeModel, precision: Precision
) -> None:
    model = make_model(**LARGE, autoregression="ssru")
    engine = cpu_engine(model, precision)
    jobs = with_shortlist(draw_jobs(model, 40, seed=2), draw_shortlist(model), every=2)
    expected = alone(engine, jobs)
    result = run_concurrently(engine, jobs, np.random.default_rng(3), leaving=0.1)
    assert result.max_in_flight > 5
    for job_id, outcome in result.outcomes.items():
        assert outcome == expected[job_id]
    assert engine._columns == {}
    assert engine._columns_bytes == 0


def test_a_list_of_all_tokens_changes_no_bit(make_model: MakeModel) -> None:
    model = make_model(**LARGE)
    everything = replace(draw_shortlist(model), n_first=model.config.target_vocab_size)
    engine = cpu_engine(model, "int8")
    jobs = draw_jobs(model, 20, seed=4)
    assert alone(engine, with_shortlist(jobs, everything)) == alone(engine, jobs)


def test_codes_of_an_embedding_are_the_columns_of_the_output(make_model: MakeModel) -> None:
    """The fast and the general copy have the same bytes."""
    model = rounded(make_model(**LARGE))
    tensors = {name: tensor.detach().numpy() for name, tensor in model.named_parameters()}
    name = "source_embedding.weight"
    scale = float(np.abs(tensors[name]).max() / 127)
    codes = np.rint(tensors[name] / scale).astype(np.int8)
    packed = pack(model.config, tensors, "int8", {name: (codes, scale)})
    as_values = packed.source_embedding._replace(
        values=tensors[name].copy(), codes=codes[:0], scale=np.float32(1)
    )
    general = packed._replace(source_embedding=as_values, target_embedding=as_values)
    engines = [CpuEngine(model.config, weights) for weights in (packed, general)]
    jobs = with_shortlist(draw_jobs(model, 10, seed=5), draw_shortlist(model))
    found = [alone(engine, jobs) for engine in engines]
    for job in jobs:
        ids = [[one.ids for one in hypotheses(each[job.id])] for each in found]
        assert ids[0] == ids[1]


def test_only_candidates_and_terms_are_chosen(make_model: MakeModel) -> None:
    model = make_model(**LARGE)
    shortlist, choose = draw_shortlist(model), np.random.default_rng(6)
    edges = PieceEdges.none(model.config.target_vocab_size)
    engine = cpu_engine(model, "float32")
    for number in range(6):
        source = draw_source(model, choose, 5)
        listed = set(shortlist.candidates(source).tolist())
        term = next(one for one in range(650, 700) if one not in listed)
        constraints = (Constraint((Wording((term, 6)),)),) * (number % 2)
        options = SearchOptions(4, 4, constraints=constraints, shortlist=shortlist)
        job = Job(number, source, options)
        outcome = hypotheses(run(engine, [job])[number])
        found = constrained_search(model, torch.tensor([source]), options, edges)
        assert [one.ids for one in outcome] == [one.ids for one in found]
        for one in outcome:
            assert set(one.ids) <= listed | {term, 6}
            assert (term in one.ids) == (number % 2 == 1)


def test_the_trace_is_of_the_same_search(make_model: MakeModel) -> None:
    model = make_model(**LARGE)
    options = SearchOptions(3, shortlist=draw_shortlist(model), max_target_tokens=6)
    source = draw_source(model, np.random.default_rng(7), 6)
    trace = cpu_engine(model, "float32").trace(source, options)
    edges = PieceEdges.none(model.config.target_vocab_size)
    expected = traced_search(model, torch.tensor([source]), options, edges)
    assert len(trace.steps) == len(expected.steps)
    for one, other in zip(trace.steps, expected.steps, strict=True):
        for beam, like in zip(one.beams, other.beams, strict=True):
            assert [t.token for t in beam.likeliest] == [t.token for t in like.likeliest]
