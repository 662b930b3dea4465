import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from model.transformer.attention import (
    KeyValue,
    MultiHeadAttention,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)

B, H, T, S, D_K = 3, 4, 5, 7, 6
D = H * D_K


def a_mask() -> Tensor:
    mask = torch.rand(B, 1, T, S) > 0.4
    mask[..., 0] = True  # every query has a visible key
    return mask


def test_two_by_two_by_hand() -> None:
    # d_k = 1, so scores are plain products: [[0, ln 3], [0, 0]].
    query = torch.tensor([[[[1.0], [0.0]]]])
    key = torch.tensor([[[[0.0], [math.log(3)]]]])
    value = torch.tensor([[[[4.0], [8.0]]]])
    output, weights = scaled_dot_product_attention(query, key, value, None)
    torch.testing.assert_close(weights, torch.tensor([[[[0.25, 0.75], [0.5, 0.5]]]]))
    torch.testing.assert_close(output, torch.tensor([[[[7.0], [6.0]]]]))


def test_scores_are_divided_by_the_root_of_d_k() -> None:
    query = torch.tensor([[[[1.0, 1.0, 1.0, 1.0]]]])
    key = torch.stack((torch.zeros(4), torch.full((4,), math.log(3) / 2)))[None, None]
    _, weights = scaled_dot_product_attention(query, key, key, None)
    torch.testing.assert_close(weights, torch.tensor([[[[0.25, 0.75]]]]))


@pytest.mark.parametrize("masked", [False, True])
def test_equals_the_fused_operator(masked: bool) -> None:
    query, key, value = (
        torch.randn(B, H, T, D_K),
        torch.randn(B, H, S, D_K),
        torch.randn(B, H, S, 2),
    )
    mask = a_mask() if masked else None
    output, _ = scaled_dot_product_attention(query, key, value, mask)
    expected = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(output, expected, atol=1e-6, rtol=1e-5)


def test_rows_sum_to_one_and_masked_weights_are_exactly_zero() -> None:
    mask = a_mask()
    _, weights = scaled_dot_product_attention(
        torch.randn(B, H, T, D_K), torch.randn(B, H, S, D_K), torch.randn(B, H, S, D_K), mask
    )
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, H, T))
    hidden = ~mask.expand_as(weights)
    assert hidden.any()
    assert (weights[hidden] == 0).all()
    assert (weights[~hidden] > 0).all()


def test_padding_mask_is_true_at_real_tokens() -> None:
    mask = padding_mask(torch.tensor([[5, 0, 9], [3, 9, 9]]), pad_id=9)
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [True, False, False]]


def test_causal_mask_lets_a_position_see_itself_and_earlier_ones() -> None:
    assert causal_mask(3, torch.device("cpu")).tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


@pytest.mark.parametrize("masked", [False, True])
def test_equals_torch_multihead_attention_with_copied_weights(masked: bool) -> None:
    ours = MultiHeadAttention(D, H, dropout=0.0)
    theirs = nn.MultiheadAttention(D, H, batch_first=True)
    projections = (ours.w_q, ours.w_k, ours.w_v)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([linear.weight for linear in projections]))
        theirs.in_proj_bias.copy_(torch.cat([linear.bias for linear in projections]))
        theirs.out_proj.weight.copy_(ours.w_o.weight)
        theirs.out_proj.bias.copy_(ours.w_o.bias)
    query, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    mask = padding_mask(torch.tensor([[1] * (S - i) + [0] * i for i in range(B)]), pad_id=0)
    hidden = ~mask[:, 0, 0] if masked else None
    record: list[Tensor] = []
    output = ours(query, ours.project_key_value(memory), mask if masked else None, record=record)
    expected, expected_weights = theirs(
        query, memory, memory, key_padding_mask=hidden, average_attn_weights=False
    )
    torch.testing.assert_close(output, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(record[0], expected_weights, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["free", "masked", "causal"])
def test_recording_gives_the_output_of_the_fused_path(kind: str) -> None:
    attention = MultiHeadAttention(D, H, dropout=0.0)
    x = torch.randn(B, T, D)
    mask = (torch.rand(B, 1, T, T) > 0.4) | torch.eye(T, dtype=torch.bool)
    key_value = attention.project_key_value(x)
    mask_or_none = mask if kind == "masked" else None
    record: list[Tensor] = []
    fused = attention(x, key_value, mask_or_none, is_causal=kind == "causal")
    written_out = attention(x, key_value, mask_or_none, is_causal=kind == "causal", record=record)
    torch.testing.assert_close(written_out, fused, atol=1e-6, rtol=1e-5)
    (weights,) = record
    assert weights.shape == (B, H, T, T)
    if kind == "causal":
        assert (weights.triu(1) == 0).all()


def test_another_fused_implementation_can_be_put_in_and_serves_only_the_unrecorded_path() -> None:
    attention = MultiHeadAttention(D, H, dropout=0.0)
    x = torch.randn(B, T, D)
    key_value = attention.project_key_value(x)
    recorded = attention(x, key_value, record=[])
    attention.fused_attention = lambda query, *_, **__: torch.zeros_like(query)
    torch.testing.assert_close(attention(x, key_value), attention.w_o.bias.expand(B, T, D))
    torch.testing.assert_close(attention(x, key_value, record=[]), recorded)


def test_weights_are_dropped_out_in_training_only() -> None:
    attention = MultiHeadAttention(D, H, dropout=0.5)
    x = torch.randn(B, T, D)
    key_value = attention.project_key_value(x)
    assert not torch.equal(attention(x, key_value), attention(x, key_value))
    attention.eval()
    assert torch.equal(attention(x, key_value), attention(x, key_value))


def test_keys_and_values_append_positions_and_select_rows() -> None:
    whole = KeyValue(torch.randn(B, H, S, D_K), torch.randn(B, H, S, D_K))
    first = KeyValue(whole.keys[:, :, :3], whole.values[:, :, :3])
    rest = KeyValue(whole.keys[:, :, 3:], whole.values[:, :, 3:])
    for put_together in (first.append(rest), whole.none().append(whole)):
        assert torch.equal(put_together.keys, whole.keys)
        assert torch.equal(put_together.values, whole.values)
    rows = torch.tensor([2, 0, 2])
    assert torch.equal(whole.select(rows).keys, whole.keys[rows])
    assert torch.equal(whole.select(rows).values, whole.values[rows])
