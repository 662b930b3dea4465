from __future__ import annotations

import math

import pytest
import torch

from model.config import PositionLayout
from model.embedding import (
    OutputProjection,
    PositionalEncoding,
    TokenEmbedding,
    sinusoidal_positions,
)


def test_positions_by_hand() -> None:
    # D = 4: angles pos / 10000^(0/4) = pos and pos / 10000^(2/4) = pos / 100.
    table = sinusoidal_positions(3, 4, "interleaved")
    expected = [
        [0.0, 1.0, 0.0, 1.0],
        [0.841471, 0.540302, 0.00999983, 0.99995],
        [0.909297, -0.416147, 0.0199987, 0.9998],
    ]
    torch.testing.assert_close(table, torch.tensor(expected), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(("position", "i"), [(1, 0), (7, 3), (511, 255), (300, 100)])
def test_positions_follow_the_formula(position: int, i: int) -> None:
    d_model = 512
    angle = position / 10_000 ** (2 * i / d_model)
    table = sinusoidal_positions(512, d_model, "interleaved")
    assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
    assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)


def test_marians_positions_by_its_formula() -> None:
    # numTimescales = D / 2; angle = pos · exp(−i · ln 10000 / (numTimescales − 1)); sines first.
    d_model, position = 8, 5
    angles = [position * math.exp(-i * math.log(10_000) / 3) for i in range(4)]
    expected = [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]
    table = sinusoidal_positions(6, d_model, "marian")
    assert table[position].tolist() == pytest.approx(expected, abs=1e-6)
    assert sinusoidal_positions(3, 2, "marian").isfinite().all()


def test_the_layouts_are_permutations_of_each_other() -> None:
    interleaved = sinusoidal_positions(20, 8, "interleaved")
    halves = sinusoidal_positions(20, 8, "halves")
    assert torch.equal(halves, torch.cat((interleaved[:, 0::2], interleaved[:, 1::2]), dim=1))
    assert not torch.equal(halves, interleaved)


def test_embedding_is_scaled_by_the_root_of_d_model() -> None:
    embedding = TokenEmbedding(5, 9, pad_id=0)
    torch.nn.init.normal_(embedding.weight)
    ids = torch.tensor([[3, 1]])
    torch.testing.assert_close(embedding(ids), embedding.weight[ids] * 3.0)


def test_padding_row_gets_no_gradient() -> None:
    embedding = TokenEmbedding(3, 4, pad_id=1)
    torch.nn.init.normal_(embedding.weight)
    embedding(torch.tensor([0, 1, 1])).sum().backward()
    assert embedding.weight.grad is not None
    assert embedding.weight.grad.tolist() == [[2.0] * 4, [0.0] * 4, [0.0] * 4]


@pytest.mark.parametrize("layout", ["interleaved", "halves", "marian"])
def test_positions_are_added_from_the_given_one_on(layout: PositionLayout) -> None:
    positions = PositionalEncoding(10, 4, layout, dropout=0.0)
    x = torch.randn(2, 3, 4)
    expected = x + sinusoidal_positions(10, 4, layout)[5:8]
    assert torch.equal(positions(x, first=5), expected)


def test_positions_end_at_max_length() -> None:
    positions = PositionalEncoding(10, 4, "interleaved", dropout=0.0)
    assert positions(torch.zeros(1, 1, 4), first=9).shape == (1, 1, 4)
    with pytest.raises(ValueError, match="11 tokens are more than max_length 10"):
        positions(torch.zeros(1, 1, 4), first=10)
    with pytest.raises(ValueError, match="more than max_length"):
        positions(torch.zeros(1, 11, 4))


def test_rebuild_fills_a_table_that_was_made_without_storage() -> None:
    with torch.device("meta"):
        positions = PositionalEncoding(10, 4, "halves", dropout=0.0)
    assert positions.table.is_meta
    positions.rebuild(torch.device("cpu"))
    assert torch.equal(positions.table, sinusoidal_positions(10, 4, "halves"))


def test_table_is_not_stored() -> None:
    assert not PositionalEncoding(10, 4, "halves", dropout=0.0).state_dict()


def test_output_by_hand() -> None:
    output = OutputProjection(2, 3, bias=True)
    assert output.bias is not None
    with torch.no_grad():
        output.weight.copy_(torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]))
        output.bias.copy_(torch.tensor([10.0, 20.0]))
    assert output(torch.tensor([[1.0, 2.0, 3.0]])).tolist() == [[17.0, 22.0]]


def test_output_without_bias_has_one_parameter() -> None:
    assert [name for name, _ in OutputProjection(2, 3, bias=False).named_parameters()] == ["weight"]
