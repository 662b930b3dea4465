from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from model.engine.cpu.forward.output import make_predictions, predict
from model.engine.cpu.forward.slots import MAX_BEAM, make_slots
from model.engine.cpu.forward.weights import Precision, Weights
from model.engine.cpu.forward.workspace import LOGIT_ROWS, make_workspace
from model.engine.cpu.kernels.arrays import Floats, Ints
from model.engine.cpu.kernels.linear import NO_FLOOR, make_scratch, project
from tests.model.engine.cpu.running import pack_model
from tests.model.make_model import MakeModel

PRECISIONS = pytest.mark.parametrize("precision", get_args(Precision))
N_ROWS = 8 * LOGIT_ROWS + 6
"""More than eight blocks of a product."""


def make_weights(
    make_model: MakeModel, precision: Precision, vocab_size: int, bias: Floats | None = None
) -> Weights:
    """Tokens 20 … 39 are as probable as 0 … 19, and so are the last 20 of a large vocabulary."""
    model = make_model(
        n_encoder_layers=1, n_decoder_layers=1, source_vocab_size=vocab_size,
        target_vocab_size=vocab_size, output_bias=True,
    )  # fmt: skip
    weight = model.output.weight.detach().numpy()
    if vocab_size >= 40:
        weight[20:40] = weight[:20]
        weight[-20:] = weight[:20]
    assert model.output.bias is not None
    if bias is None:
        model.output.bias.detach().zero_()
    else:
        model.output.bias.detach().numpy()[:] = bias
    return pack_model(model, precision)


def draw_rows(weights: Weights, n_rows: int = N_ROWS) -> Floats:
    x = np.zeros((n_rows, 64), np.float32)
    d_model = weights.shape.d_model
    x[:, :d_model] = np.random.default_rng(0).normal(size=(n_rows, d_model))
    return x


def logits_of(weights: Weights, x: Floats, vocab_size: int) -> Floats:
    out = np.zeros((len(x), weights.output.bias.shape[1]), np.float32)
    scratch = make_scratch(len(x), weights.output.inputs)
    project(x, len(x), weights.output, 0, NO_FLOOR, False, scratch, out)
    return out[:, :vocab_size]


def predicted(weights: Weights, x: Floats, n_best: Ints) -> tuple[Ints, Floats]:
    work = make_workspace(weights, len(x))
    work.x[:] = x
    predictions = make_predictions(len(x), 2 * MAX_BEAM, 1)
    predictions.n_best[:] = n_best
    predictions.tokens[:] = -7
    predictions.log_probs[:] = 7
    predict(weights, len(x), make_slots(1, 8), work, predictions)
    return predictions.tokens, predictions.log_probs


def log_softmax(logits: Floats) -> NDArray[np.float64]:
    exact = logits.astype(np.float64)
    exact -= exact.max(axis=1, keepdims=True)
    result: NDArray[np.float64] = exact - np.log(np.exp(exact).sum(axis=1, keepdims=True))
    return result


@PRECISIONS
@pytest.mark.parametrize("vocab_size", [5, 12, 64, 65, 130, 1000])
def test_the_most_probable_tokens_in_order_the_lower_of_equals_first(
    make_model: MakeModel, precision: Precision, vocab_size: int
) -> None:
    weights = make_weights(make_model, precision, vocab_size)
    pad_id = weights.shape.pad_id
    x = draw_rows(weights)
    n_best = 1 + np.arange(N_ROWS) % (2 * MAX_BEAM)
    tokens, log_probs = predicted(weights, x, n_best)
    logits = logits_of(weights, x, vocab_size)
    exact = log_softmax(logits)
    logits[:, pad_id] = -np.inf
    for row, n in enumerate(n_best):
        there = min(n, vocab_size - 1)
        order = np.argsort(-logits[row], kind="stable")[:there]
        assert tokens[row, :there].tolist() == order.tolist()
        np.testing.assert_allclose(log_probs[row, :there], exact[row, order], atol=2e-5)
        assert (log_probs[row, there:n] == -np.inf).all()
        assert (tokens[row, n:] == -7).all()
        assert (log_probs[row, n:] == 7).all()


@PRECISIONS
def test_probable_padding_is_not_chosen(make_model: MakeModel, precision: Precision) -> None:
    bias = np.zeros(130, np.float32)
    bias[0] = 30
    weights = make_weights(make_model, precision, 130, bias)
    assert weights.shape.pad_id == 0
    tokens, log_probs = predicted(weights, draw_rows(weights), np.full(N_ROWS, 8))
    assert (tokens[:, :8] > 0).all()
    assert (log_probs[:, :8] < -10).all()  # it is part of the softmax


@PRECISIONS
def test_impossible_tokens_are_not_chosen(make_model: MakeModel, precision: Precision) -> None:
    bias = np.full(130, -np.inf, np.float32)
    bias[[3, 129]] = 0
    weights = make_weights(make_model, precision, 130, bias)
    x = draw_rows(weights)
    tokens, log_probs = predicted(weights, x, np.full(N_ROWS, 4))
    logits = logits_of(weights, x, 130)
    exact = log_softmax(logits[:, [3, 129]])
    np.testing.assert_allclose(log_probs[:, :2], -np.sort(-exact), atol=1e-5)
    assert (np.sort(tokens[:, :2]) == (3, 129)).all()
    assert (log_probs[:, 2:4] == -np.inf).all()


@PRECISIONS
def test_nan_stays_in_its_row(make_model: MakeModel, precision: Precision) -> None:
    weights = make_weights(make_model, precision, 130)
    x, n_best = draw_rows(weights), np.full(N_ROWS, 5)
    tokens, log_probs = predicted(weights, x, n_best)
    x[LOGIT_ROWS + 3, 2] = np.nan
    spoilt_tokens, spoilt = predicted(weights, x, n_best)
    assert np.isnan(spoilt[LOGIT_ROWS + 3, :5]).all()
    others = np.arange(N_ROWS) != LOGIT_ROWS + 3
    assert spoilt[others].tobytes() == log_probs[others].tobytes()
    np.testing.assert_array_equal(spoilt_tokens[others], tokens[others])


@PRECISIONS
def test_a_single_logit_that_is_nan_is_noticed(make_model: MakeModel, precision: Precision) -> None:
    bias = np.zeros(130, np.float32)
    bias[97] = np.nan
    weights = make_weights(make_model, precision, 130, bias)
    _, log_probs = predicted(weights, draw_rows(weights), np.full(N_ROWS, 2))
    assert np.isnan(log_probs[:, :2]).all()


@PRECISIONS
def test_a_row_has_the_same_bits_alone(make_model: MakeModel, precision: Precision) -> None:
    weights = make_weights(make_model, precision, 1000)
    x, n_best = draw_rows(weights), np.full(N_ROWS, 9)
    tokens, log_probs = predicted(weights, x, n_best)
    for row in range(0, N_ROWS, 9):
        alone_tokens, alone = predicted(weights, x[row : row + 1], n_best[:1])
        assert alone[0].tobytes() == log_probs[row].tobytes()
        np.testing.assert_array_equal(alone_tokens[0], tokens[row])


@PRECISIONS
def test_requested_tokens_have_the_scores_that_they_have_when_chosen(
    make_model: MakeModel, precision: Precision
) -> None:
    weights = make_weights(make_model, precision, 130)
    x, choose = draw_rows(weights), np.random.default_rng(1)
    predictions = make_predictions(N_ROWS, 2 * MAX_BEAM, 140)
    predictions.n_best[:] = 9
    predictions.n_named[:] = choose.integers(0, 140, N_ROWS)
    predictions.named["token"] = choose.integers(0, 130, predictions.named.shape)
    predictions.named["log_prob"] = 7
    work = make_workspace(weights, N_ROWS)
    work.x[:] = x
    predict(weights, N_ROWS, make_slots(1, 8), work, predictions)
    exact = log_softmax(logits_of(weights, x, 130))
    exact[:, weights.shape.pad_id] = -np.inf
    for row, n in enumerate(predictions.n_named):
        requested, found = predictions.named["token"][row, :n], predictions.named["log_prob"][row]
        np.testing.assert_allclose(found[:n], exact[row, requested], atol=2e-5)
        assert (found[n:] == 7).all()
        chosen = dict(zip(predictions.tokens[row, :9], predictions.log_probs[row, :9], strict=True))
        for token, log_prob in zip(requested, found[:n], strict=True):
            assert chosen.get(token, log_prob) == log_prob
