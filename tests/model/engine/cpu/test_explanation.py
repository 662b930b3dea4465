from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from model.engine.cpu.weights import Precision
from model.engine.eager import EagerEngine
from model.engine.protocol import AttentionKind
from model.transformer import Transformer
from tests.model.engine.cpu.running import (
    FAMILY,
    KINDS,
    PRECISIONS,
    Outcome,
    advance,
    alone,
    cpu_engine,
    draw_jobs,
    draw_source,
)

MakeModel = Callable[..., Transformer]


EXPLAINED = ("pre-norm, GELU", "other heads and width in the decoder", "separate vocabularies",
             "heads of 80", "ids elsewhere")  # fmt: skip


@KINDS
@pytest.mark.parametrize("name", EXPLAINED)
def test_float32_explains_as_the_reference(
    make_speaker: MakeModel, name: str, kind: AttentionKind
) -> None:
    model = make_speaker(**FAMILY[name])
    engine = cpu_engine(model, "float32")
    eager = EagerEngine(model)
    choose = np.random.default_rng(0)
    for n_source, n_target in ((1, 1), (5, 3), (17, 33), (36, 36)):
        source = draw_source(model, choose, n_source)
        drawn = choose.integers(0, model.config.target_vocab_size, n_target)
        weights = engine.explain(source, drawn.tolist(), kind)
        expected = eager.explain(source, drawn.tolist(), kind)
        assert weights.dtype == np.float32
        np.testing.assert_allclose(weights, expected, atol=1e-5)
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)


@PRECISIONS
@KINDS
def test_explaining_does_not_disturb_sentences_in_flight(
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
def test_what_cannot_be_explained_is_refused(
    model: Transformer, source: tuple[int, ...], target: tuple[int, ...], named: str,
    kind: AttentionKind,
) -> None:  # fmt: skip
    with pytest.raises(ValueError, match=named):
        cpu_engine(model, "int8").explain(source, target, kind)
