import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from model.training.int8.codes import Rows
from model.training.int8.layers import product, use_int8_products
from model.transformer.feed_forward import FeedForward
from tests.model.training.toy import Recorder, Workshop


def int8_product(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    return product(Rows.of(x), Rows.of(weight), bias)


def test_by_hand() -> None:
    x = torch.tensor([[127.0, -63.6], [0.0, 0.0]])
    weight = torch.tensor([[2.54, 0.02], [1.0, -1.0], [0.0, 0.0]])
    # Codes (127, −64) with scale 1, and (127, 1) with 0.02, (127, −127) with 1 / 127, zeros.
    expected = torch.tensor([[(127 * 127 - 64) * 0.02, 127 + 64.0, 0.0], [0.0, 0.0, 0.0]])
    torch.testing.assert_close(int8_product(x, weight), expected)
    bias = torch.tensor([1.0, 2.0, 3.0])
    torch.testing.assert_close(int8_product(x, weight, bias), expected + bias)


@pytest.mark.parametrize(("n", "k", "m"), [(1, 1, 1), (7, 16, 5), (33, 64, 96)])
def test_relative_error_is_that_of_eight_bits(n: int, k: int, m: int) -> None:
    torch.manual_seed(n)
    x, weight, bias = torch.randn(n, k), torch.randn(m, k), torch.randn(m)
    expected = functional.linear(x, weight, bias)
    assert (int8_product(x, weight, bias) - expected).norm() < 0.015 * expected.norm()


def test_a_row_is_independent_of_the_others() -> None:
    torch.manual_seed(1)
    x, weight = torch.randn(9, 12), torch.randn(4, 12)
    x[3] *= 1e6
    assert torch.equal(int8_product(x, weight)[5], int8_product(x[5:6], weight)[0])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_spoils_its_row_alone(value: float) -> None:
    x = torch.ones(3, 4)
    x[1, 2] = value
    found = int8_product(x, torch.ones(2, 4)).isnan().all(dim=1)
    assert found.tolist() == [False, True, False]


@pytest.mark.parametrize("bias", [False, True])
def test_gradients_are_those_of_a_linear_layer(bias: bool) -> None:
    torch.manual_seed(2)
    layer, twin = nn.Linear(24, 40, bias), nn.Linear(24, 40, bias)
    twin.load_state_dict(layer.state_dict())
    use_int8_products(layer)
    x = torch.randn(5, 3, 24, requires_grad=True)
    twin_x = x.detach().clone().requires_grad_()
    direction = torch.randn(5, 3, 40)
    (layer(x) * direction).sum().backward()
    (twin(twin_x) * direction).sum().backward()
    pairs = zip((x, *layer.parameters()), (twin_x, *twin.parameters()), strict=True)
    for ours, theirs in pairs:
        assert relative(ours.grad, theirs.grad) < 0.02


def test_outside_of_training_products_are_exact() -> None:
    layer = nn.Linear(8, 8)
    x = torch.randn(2, 8)
    expected = layer(x)
    use_int8_products(layer)
    assert not torch.equal(layer(x), expected)
    assert torch.equal(layer.eval()(x), expected)


def test_a_run_learns_and_its_state_is_like_any_other(workshop: Workshop) -> None:
    recorder = Recorder()
    trainer = workshop.open(precision="int8", schedule={"steps": 20}, reporter=recorder)
    trainer.train()
    assert recorder.steps[-1]["loss"] < 0.9 * recorder.steps[0]["loss"]
    workshop.open(resume=True, precision="fp32", schedule={"steps": 21}).train()


def twins() -> tuple[FeedForward, FeedForward]:
    """Return two layers of equal weights, the first with int8 products."""
    torch.manual_seed(0)
    ours, theirs = FeedForward(24, 64, "relu", 0.0), FeedForward(24, 64, "relu", 0.0)
    theirs.load_state_dict(ours.state_dict())
    use_int8_products(ours)
    return ours, theirs


def relative(found: Tensor | None, expected: Tensor | None) -> float:
    assert found is not None
    assert expected is not None
    error: float = ((found - expected).norm() / expected.norm()).item()
    return error


@pytest.mark.parametrize("rows", [1, 300])  # 300: more than one block, the last one not full
def test_outputs_and_gradients_are_those_of_equation_2(rows: int) -> None:
    ours, theirs = twins()
    x = torch.randn(rows, 2, 24, requires_grad=True)
    twin_x = x.detach().clone().requires_grad_()
    direction = torch.randn(rows, 2, 24)
    output, expected = ours(x), theirs(twin_x)
    assert output.shape == x.shape
    assert relative(output, expected) < 0.02
    (output * direction).sum().backward()
    (expected * direction).sum().backward()
    # Rounding changes the sign of about one activation in a hundred, and with it whether the
    # activation contributes to the gradients of the first layer.
    assert relative(x.grad, twin_x.grad) < 0.12
    for (name, mine), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert relative(mine.grad, other.grad) < (0.15 if name.startswith("w_1") else 0.02), name


def test_a_number_that_is_not_finite_spoils_its_row_alone_and_all_weights() -> None:
    ours, _ = twins()
    x = torch.ones(3, 24)
    x[1, 2] = math.nan
    output = ours(x)
    assert output.isnan().all(dim=1).tolist() == [False, True, False]
    output.sum().backward()
    for name, parameter in ours.named_parameters():
        assert parameter.grad is not None
        if name.endswith("weight"):
            assert parameter.grad.isnan().any(), name


def test_outside_of_training_it_is_exact() -> None:
    ours, theirs = twins()
    x = torch.randn(5, 24)
    assert not torch.equal(ours(x), theirs(x))
    assert torch.equal(ours.eval()(x), theirs(x))


@pytest.mark.parametrize(("activation", "dropout"), [("gelu", 0.0), ("relu", 0.5)])
def test_other_layers_keep_their_function(activation: str, dropout: float) -> None:
    torch.manual_seed(1)
    layer = FeedForward(24, 64, activation, dropout)  # type: ignore[arg-type]
    use_int8_products(layer)
    x = torch.randn(40, 24)
    torch.manual_seed(2)
    found = layer(x)
    inner = FeedForward(24, 64, activation, dropout)  # type: ignore[arg-type]
    inner.load_state_dict(layer.state_dict())
    torch.manual_seed(2)
    assert relative(found, inner(x)) < 0.03
