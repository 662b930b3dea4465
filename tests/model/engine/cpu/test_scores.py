from collections.abc import Iterator

import numpy as np
import pytest
import torch

from model.decoding.hypothesis import Outcome, SearchOptions
from model.engine.cpu.forward.weights import Precision
from model.engine.eager import EagerEngine
from model.engine.explanations import AttentionKind
from model.engine.protocol import Engine
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import advance, alone, cpu_engine
from tests.model.engine.jobs import (
    FAMILY,
    KINDS,
    PRECISIONS,
    RULES,
    draw_jobs,
    draw_source,
    hypotheses,
)
from tests.model.make_model import MakeModel

GREEDY = SearchOptions(beam_size=1)


EXPLAINED = ("pre-norm, GELU", "other heads and width in the decoder", "separate vocabularies",
             "heads of 80", "ids elsewhere")  # fmt: skip


def draw_pairs(model: Transformer) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """Sources, and any tokens of the target's vocabulary, short and long."""
    choose = np.random.default_rng(0)
    for n_source, n_target in ((1, 1), (5, 3), (17, 33), (36, 36)):
        source = draw_source(model, choose, n_source)
        drawn = choose.integers(0, model.config.target_vocab_size, n_target)
        yield source, list(map(int, drawn))


@KINDS
@pytest.mark.parametrize("name", EXPLAINED)
def test_float32_explains_equally(
    make_varied_model: MakeModel, name: str, kind: AttentionKind
) -> None:
    model = make_varied_model(**FAMILY[name])
    engine = cpu_engine(model, "float32")
    eager = EagerEngine(model)
    for source, target in draw_pairs(model):
        weights = engine.explain(source, target, kind)
        expected = eager.explain(source, target, kind)
        assert weights.dtype == np.float32
        np.testing.assert_allclose(weights, expected, atol=1e-5)
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("name", EXPLAINED)
def test_float32_scores_as_the_reference(make_varied_model: MakeModel, name: str) -> None:
    model = make_varied_model(**FAMILY[name])
    engine = cpu_engine(model, "float32")
    eager = EagerEngine(model)
    for source, target in draw_pairs(model):
        log_probs = engine.score([(source, target)], GREEDY)[0]
        assert log_probs.dtype == np.float32
        np.testing.assert_allclose(log_probs, eager.score([(source, target)], GREEDY)[0], atol=1e-4)


@PRECISIONS
def test_found_translations_have_equal_scores(model: Transformer, precision: Precision) -> None:
    engine = cpu_engine(model, precision)
    jobs = draw_jobs(model, 20, seed=3)
    for job_id, outcome in alone(engine, jobs).items():
        for found in hypotheses(outcome):
            end = () if found.capped else (model.config.eos_id,)
            target = (*found.ids, *end)
            log_probs = engine.score([(jobs[job_id].source_ids, target)], jobs[job_id].options)[0]
            assert tuple(map(float, log_probs)) == found.log_probs


@PRECISIONS
def test_pairs_score_together_as_alone(model: Transformer, precision: Precision) -> None:
    """Pairs of any lengths in any order, also if the engine lacks rows for all at once."""
    engine = cpu_engine(model, precision)
    choose = np.random.default_rng(5)
    n_tokens = model.config.target_vocab_size
    pairs = [
        (draw_source(model, choose, n_source), choose.integers(0, n_tokens, n_target).tolist())
        for n_source, n_target in choose.integers(1, 37, (20, 2)).tolist()
    ]
    alone = [engine.score([pair], GREEDY)[0].tobytes() for pair in pairs]
    assert [one.tobytes() for one in engine.score(pairs, GREEDY)] == alone
    short = min(pairs, key=lambda pair: len(pair[1]))
    many = engine.score([short] * (len(engine._work.x) + 3), GREEDY)
    assert {one.tobytes() for one in many} == {alone[pairs.index(short)]}
    assert engine.score([], GREEDY) == []


@pytest.mark.parametrize("name", RULES)
def test_scores_by_each_rule_are_the_references(model: Transformer, name: str) -> None:
    assert model.output.bias is not None
    with torch.no_grad():
        model.output.bias[model.config.pad_id] = 3
    options = SearchOptions(rule=RULES[name])
    engines: tuple[Engine, ...] = (cpu_engine(model, "float32"), EagerEngine(model))
    ours, theirs = (one.score([((5, 6, 1), (6, 3, 8, 1))], options)[0] for one in engines)
    assert ours == pytest.approx(theirs, abs=1e-4)
    assert np.isfinite(ours).all()


@PRECISIONS
@KINDS
def test_explaining_disturbs_no_search(
    model: Transformer, precision: Precision, kind: AttentionKind
) -> None:
    engine = cpu_engine(model, precision)
    jobs = draw_jobs(model, 15, seed=7)
    expected = alone(engine, jobs)
    first = engine.explain((5, 6, 7, 1), (8, 9, 1), kind)
    engine.admit(jobs)
    outcomes: dict[int, Outcome] = {}
    while engine.busy:
        outcomes |= dict(advance(engine))
        again = engine.explain((5, 6, 7, 1), (8, 9, 1), kind)
        engine.score([((5, 6, 7, 1), (8, 9, 1))], GREEDY)
        assert again.tobytes() == first.tobytes()
    assert outcomes == expected
    np.testing.assert_allclose(first.sum(-1), 1, atol=1e-5)


@KINDS
@pytest.mark.parametrize(
    ("source", "target", "named"),
    [
        ((), (5, 1), "0 source tokens"),
        ((5, 1), (), "0 target tokens"),
        ((5, 1), (5,) * 41, "41 target tokens"),
        ((150, 1), (5, 1), "a source id"),
        ((5, 1), (5, 150), "a target id"),
        ((5, 1), (-1,), "a target id"),
    ],
)
def test_invalid_explanations_are_refused(
    model: Transformer, source: tuple[int, ...], target: tuple[int, ...], named: str,
    kind: AttentionKind,
) -> None:  # fmt: skip
    engine = cpu_engine(model, "int8")
    with pytest.raises(ValueError, match=named):
        engine.explain(source, target, kind)
    with pytest.raises(ValueError, match=named):
        engine.score([((5, 1), (5, 1)), (source, target)], GREEDY)
