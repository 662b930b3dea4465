import numpy as np
import pytest
import torch

from model.transformer.config import PositionLayout
from model.transformer.embedding import OutputProjection, PositionalEncoding, TokenEmbedding
from model.transformer.positions import sinusoidal_positions


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
    expected = x + torch.from_numpy(sinusoidal_positions(10, 4, layout))[5:8]
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
    assert np.array_equal(positions.table.numpy(), sinusoidal_positions(10, 4, "halves"))


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
