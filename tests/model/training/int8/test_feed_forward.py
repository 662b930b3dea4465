import math

import pytest
import torch
from torch import Tensor

from model.training.int8.layers import use_int8_products
from model.transformer.feed_forward import FeedForward


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
    # One activation in a hundred is near enough to 0 to be on the other side of it after rounding,
    # and what it adds to the gradients of the first layer comes or goes.
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
