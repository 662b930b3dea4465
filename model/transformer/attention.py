"""§3.2: scaled dot-product attention and multi-head attention.

Masks are boolean, True where a query may attend, and broadcast to [B, H, T, S].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """ids [B, S] → [B, 1, 1, S], True at real tokens."""
    return (ids != pad_id)[:, None, None, :]


def causal_mask(length: int, device: torch.device) -> Tensor:
    """[T, T], True on and below the diagonal: position i may see positions 0…i (§3.2.3)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Equation 1, written out: softmax(QKᵀ / √d_k) V, and the weights.

    query [B, H, T, Dh], key and value [B, H, S, Dh] → output [B, H, T, Dh], weights [B, H, T, S].
    Positions where `mask` is False get −∞ before the softmax, so their weight is exactly 0.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class KeyValue(NamedTuple):
    """Projected keys and values of one attention, split into heads: each [B, H, S, Dh]."""

    keys: Tensor
    values: Tensor

    def append(self, later: KeyValue) -> KeyValue:
        """Append later positions."""
        return KeyValue(
            torch.cat((self.keys, later.keys), dim=2), torch.cat((self.values, later.values), dim=2)
        )

    def none(self) -> KeyValue:
        """Return zero positions of the same rows, as a start for `append`."""
        return KeyValue(self.keys[:, :, :0], self.values[:, :, :0])

    def select(self, rows: Tensor) -> KeyValue:
        """Select rows of the batch, in the given order."""
        return KeyValue(self.keys.index_select(0, rows), self.values.index_select(0, rows))


class MultiHeadAttention(nn.Module):
    """§3.2.2: Concat(head_1, …, head_h) W^O with head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V).

    The paper's h projections are concatenated into one matrix each. Deviations, both as in most
    implementations: each projection has a bias, and the weights have dropout in training.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.dropout = dropout
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        # An attribute, so that another implementation can replace it.
        self.fused_attention: Callable[..., Tensor] = functional.scaled_dot_product_attention

    def project_query(self, x: Tensor) -> Tensor:
        """[B, T, D] → [B, H, T, Dh]."""
        return self._split_heads(self.w_q(x))

    def project_key_value(self, x: Tensor) -> KeyValue:
        """[B, S, D] → keys and values, each [B, H, S, Dh]."""
        return KeyValue(self._split_heads(self.w_k(x)), self._split_heads(self.w_v(x)))

    def forward(
        self,
        query: Tensor,
        key_value: KeyValue,
        mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        record: list[Tensor] | None = None,
    ) -> Tensor:
        """query [B, T, D] over `key_value` of S positions → [B, T, D].

        `is_causal` masks later positions (T = S) without building a mask. With `record`, the
        weights [B, H, T, S] are appended to it, computed by equation 1 without dropout; otherwise
        the fused operator is used, which does not materialise them.
        """
        q = self.project_query(query)
        keys, values = key_value
        if record is None:
            heads = self.fused_attention(
                q, keys, values, attn_mask=mask, is_causal=is_causal,
                dropout_p=self.dropout if self.training else 0.0,
            )  # fmt: skip
        else:
            if is_causal:
                mask = causal_mask(q.shape[2], q.device)
            heads, weights = scaled_dot_product_attention(q, keys, values, mask)
            record.append(weights)
        output: Tensor = self.w_o(heads.transpose(1, 2).flatten(2))
        return output

    def _split_heads(self, x: Tensor) -> Tensor:
        heads: Tensor = x.unflatten(-1, (self.n_heads, -1))
        return heads.transpose(1, 2)
