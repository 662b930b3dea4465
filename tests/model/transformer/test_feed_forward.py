import math

import pytest
import torch

from model.transformer.config import Activation
from model.transformer.feed_forward import FeedForward


def by_hand(activation: Activation) -> FeedForward:
    network = FeedForward(2, 3, activation, dropout=0.0)
    with torch.no_grad():
        network.w_1.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]))
        network.w_1.bias.copy_(torch.tensor([0.0, 1.0, 0.0]))
        network.w_2.weight.copy_(torch.tensor([[1.0, 10.0, 100.0], [0.0, 1.0, 0.0]]))
        network.w_2.bias.copy_(torch.tensor([0.5, 0.0]))
    return network


def test_equation_2_by_hand() -> None:
    # xW1 + b1 = [1, 3, -3] → max(0, ·) = [1, 3, 0] → [1 + 30 + 0.5, 3]
    assert by_hand("relu")(torch.tensor([1.0, 2.0])).tolist() == [31.5, 3.0]


@pytest.mark.parametrize(
    ("activation", "function"),
    [
        ("gelu", lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2)))),
        ("quick_gelu", lambda x: x / (1 + math.exp(-1.702 * x))),
        ("swish", lambda x: x / (1 + math.exp(-x))),
    ],
)
def test_other_activations_by_their_formula(activation: Activation, function: object) -> None:
    assert callable(function)
    a, b, c = (function(x) for x in (1.0, 3.0, -3.0))
    output = by_hand(activation)(torch.tensor([1.0, 2.0])).tolist()
    assert output == pytest.approx([a + 10 * b + 100 * c + 0.5, b], abs=1e-4)


def test_is_position_wise() -> None:
    network = FeedForward(4, 8, "relu", dropout=0.0)
    x = torch.randn(2, 5, 4)
    alone = torch.stack([network(x[:, position]) for position in range(5)], dim=1)
    torch.testing.assert_close(network(x), alone)
