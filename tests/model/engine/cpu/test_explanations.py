"""Explanations of a search and of attention match the engine's own results."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from model.decoding.constraints import Constraint, Wording
from model.decoding.hypothesis import SearchOptions
from model.decoding.trace import SearchTrace
from model.engine.eager import EagerEngine
from model.engine.explanations import AttentionKind, AttentionRow, LayerRow, StackName
from model.engine.protocol import Engine, Job
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import alone, cpu_engine
from tests.model.engine.jobs import FAMILY, FOREIGN_RULES, KINDS, draw_jobs, hypotheses
from tests.model.make_model import MakeModel

MakeEngine = Callable[[Transformer], Engine]
ENGINES = pytest.mark.parametrize(
    "make_engine",
    [
        lambda model: cpu_engine(model, "int8"),
        lambda model: cpu_engine(model, "float32"),
        EagerEngine,
    ],
    ids=["int8", "float32", "eager"],
)
OPTIONS = [
    SearchOptions(beam_size=1),
    SearchOptions(),
    SearchOptions(n_best=3, length_penalty=2, max_target_tokens=7),
    SearchOptions(beam_size=2, n_best=2, length_penalty=0, max_target_tokens=1),
]
TERMS = (Constraint((Wording((9, 10)),)), Constraint((Wording((12,)),)))


def sources(model: Transformer, n: int = 3) -> list[tuple[int, ...]]:
    return [job.source_ids for job in draw_jobs(model, n, seed=5)]


def ids_of(trace: SearchTrace, step: int, beam: int) -> tuple[int, ...]:
    """Followed back along the parents."""
    ids: list[int] = []
    place: int | None = beam
    while place is not None:
        one = trace.steps[step].beams[place]
        if one.token is not None:
            ids.insert(0, one.token)
        place, step = one.parent, step - 1
    return tuple(ids)


def outcome(engine: Engine, source: Sequence[int], options: SearchOptions) -> list[object]:
    engine.admit([Job(1, tuple(source), options)])
    while not (finished := engine.step()):
        pass
    found = finished[0].outcome
    assert isinstance(found, list)
    return list(found)


@ENGINES
@pytest.mark.parametrize("shape", ["a recurrent decoder", "pre-norm, GELU"])
@pytest.mark.parametrize(
    "options",
    [
        *OPTIONS,
        SearchOptions(constraints=TERMS, max_target_tokens=20),
        *(SearchOptions(rule=rule) for rule in FOREIGN_RULES.values()),
    ],
    ids=[*map(str, OPTIONS), "terms", *FOREIGN_RULES],
)
def test_a_trace_ends_in_the_very_answer_of_a_job(
    make_varied_model: MakeModel, shape: str, make_engine: MakeEngine, options: SearchOptions
) -> None:
    size = {"source_vocab_size": 150, "target_vocab_size": 150, "max_length": 40}
    model = make_varied_model(**FAMILY[shape], **size, eos_bias=2.5)
    engine = make_engine(model)
    for source in sources(model):
        trace = engine.trace(source, options)
        assert list(trace.hypotheses) == outcome(engine, source, options)
        best = trace.hypotheses[0]
        assert any(one.hypothesis == best for step in trace.steps for one in step.ended)


@ENGINES
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_steps_lead_to_the_answer(
    model: Transformer, make_engine: MakeEngine, options: SearchOptions
) -> None:
    engine = make_engine(model)
    for source in sources(model):
        trace = engine.trace(source, options)
        assert trace.steps[0].beams[0].parent is None
        finished = [one.hypothesis for step in trace.steps for one in step.ended]
        assert set(trace.hypotheses) <= set(finished)
        for number, step in enumerate(trace.steps):
            assert len(step.beams) <= options.beam_size
            for place, beam in enumerate(step.beams):
                ids = ids_of(trace, number, place)
                assert len(ids) == number
                log_probs = [one.log_prob for one in beam.likeliest]
                assert log_probs == sorted(log_probs, reverse=True)
                assert sum(map(math.exp, log_probs)) <= 1 + 1e-5
                if ids and number == len(trace.steps) - 1:
                    scored = engine.score([(source, ids)], options)[0]
                    assert beam.log_prob == pytest.approx(float(scored.sum()), abs=1e-3)
            for one in step.ended:
                prefix = ids_of(trace, number, one.beam)
                assert one.hypothesis.ids in (prefix, (*prefix, *one.hypothesis.ids[-1:]))


@ENGINES
def test_the_likeliest_tokens_are_the_models(model: Transformer, make_engine: MakeEngine) -> None:
    engine, reference = make_engine(model), EagerEngine(model)
    traces = [
        one.trace(sources(model)[0], SearchOptions(beam_size=1)) for one in (engine, reference)
    ]
    found, expected = (trace.steps[0].beams[0].likeliest for trace in traces)
    np.testing.assert_allclose(
        [x.log_prob for x in found], [x.log_prob for x in expected], atol=0.1
    )


def test_a_trace_leaves_the_jobs_in_flight_alone(model: Transformer) -> None:
    engine = cpu_engine(model, "int8")
    jobs = draw_jobs(model, 5, seed=8)
    expected = {key: hypotheses(one) for key, one in alone(engine, jobs).items()}
    engine.admit(jobs)
    found = {one.job_id: one.outcome for one in engine.step()}
    engine.trace(sources(model)[0], SearchOptions())
    while engine.busy:
        found |= {one.job_id: one.outcome for one in engine.step()}
    assert found == expected


@KINDS
@ENGINES
def test_projections_are_those_behind_the_weights(
    make_varied_model: MakeModel, make_engine: MakeEngine, kind: AttentionKind
) -> None:
    for norm_order in ("pre", "post"):
        model = make_varied_model(norm_order=norm_order, n_encoder_layers=2)
        engine = make_engine(model)
        source, target = (5, 9, 7, 3, 1), (4, 8, 6, 1)
        explained = engine.explain(source, target, kind)
        for layer in range(2):
            for row in range(explained.shape[2]):
                projection = engine.project(source, target, AttentionRow(kind, layer, row))
                np.testing.assert_array_equal(projection.weights, explained[layer, :, row])
                d_k = projection.query.shape[-1]
                scores = (projection.query @ projection.keys.transpose(0, 2, 1))[:, 0] / math.sqrt(
                    d_k
                )
                scores[:, ~projection.seen] = -np.inf
                weights = np.exp(scores - scores.max(-1, keepdims=True))
                weights /= weights.sum(-1, keepdims=True)
                np.testing.assert_allclose(weights, projection.weights, atol=1e-5)
                assert projection.seen.sum() == (
                    row + 1 if kind == "decoder" else len(projection.seen)
                )
                assert projection.values.shape == projection.keys.shape


@KINDS
def test_float32_projects_as_the_reference(
    make_varied_model: MakeModel, kind: AttentionKind
) -> None:
    model = make_varied_model(norm_order="pre", n_encoder_layers=2)
    request = (5, 9, 7, 1), (4, 8, 1), AttentionRow(kind, 1, 1)
    projection = cpu_engine(model, "float32").project(*request)
    expected = EagerEngine(model).project(*request)
    for name in ("query", "keys", "values", "weights", "seen"):
        np.testing.assert_allclose(getattr(projection, name), getattr(expected, name), atol=1e-4)


SHAPES: dict[str, dict[str, Any]] = {
    "pre": {"norm_order": "pre"},
    "post": {"norm_order": "post", "decoder_d_ff": 48, "decoder_n_heads": 2},
    "ssru": {"norm_order": "post", "autoregression": "ssru", "output_bias": True},
}
SOURCE, TARGET = (5, 9, 7, 3, 1), (4, 8, 6, 1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_activations_are_the_references(
    make_varied_model: MakeModel, stack: StackName, shape: str
) -> None:
    model = make_varied_model(n_encoder_layers=2, n_decoder_layers=2, **SHAPES[shape])
    exact, reference = cpu_engine(model, "float32"), EagerEngine(model)
    for layer, row in ((0, 0), (1, 2), (1, 3)):
        at = LayerRow(stack, layer, row)
        expected = reference.activations(SOURCE, TARGET, at)
        found = exact.activations(SOURCE, TARGET, at)
        assert [one[:2] for one in found] == [one[:2] for one in expected]
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours.vector, theirs.vector, atol=1e-4, err_msg=ours.name)


@ENGINES
@pytest.mark.parametrize("shape", SHAPES)
def test_activations_are_those_of_the_pass(
    make_varied_model: MakeModel, make_engine: MakeEngine, shape: str
) -> None:
    """They end in the logits that score the target, and agree with the attention's vectors."""
    model = make_varied_model(n_encoder_layers=2, n_decoder_layers=2, **SHAPES[shape])
    engine = make_engine(model)
    [scored] = engine.score([(SOURCE, TARGET)], SearchOptions())
    for row, token in enumerate(TARGET):
        found = vectors(engine, LayerRow("decoder", 1, row))
        logits = found["output", "logits"].astype(np.float64)
        log_prob = logits[token] - np.log(np.exp(logits).sum())
        assert log_prob == pytest.approx(float(scored[row]), abs=1e-3)
        projection = engine.project(SOURCE, TARGET, AttentionRow("cross", 1, row))
        np.testing.assert_array_equal(found["cross_attention", "query"], projection.query.ravel())
        context = (projection.weights[:, None] @ projection.values).ravel()
        np.testing.assert_allclose(found["cross_attention", "context"], context, atol=1e-5)
        first = "ssru" if shape == "ssru" else "self_attention"
        for before, sublayer in ((first, "cross_attention"), ("cross_attention", "feed_forward")):
            state = found[before, "residual" if shape == "pre" else "norm"]
            total = state + found[sublayer, "output"]
            np.testing.assert_allclose(found[sublayer, "residual"], total, atol=1e-5)
    for row in range(len(SOURCE)):
        found = vectors(engine, LayerRow("encoder", 1, row))
        projection = engine.project(SOURCE, TARGET, AttentionRow("encoder", 1, row))
        np.testing.assert_array_equal(found["self_attention", "query"], projection.query.ravel())
        np.testing.assert_array_equal(
            found["self_attention", "key"], projection.keys[:, row].ravel()
        )


def vectors(engine: Engine, at: LayerRow) -> dict[tuple[str, str], np.ndarray]:
    return {one[:2]: one.vector for one in engine.activations(SOURCE, TARGET, at)}
