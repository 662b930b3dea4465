"""§3.4 embeddings and softmax weights, §3.5 positional encoding."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from model.transformer.config import PositionLayout
from model.transformer.positions import sinusoidal_positions


class TokenEmbedding(nn.Module):
    """§3.4: a learned row per token, multiplied by √d_model unless `scaled` is False.

    The padding row starts at zero and gets no gradient here; for a tied output projection, see
    `Transformer.clear_padding_gradient`.
    """

    def __init__(self, vocab_size: int, d_model: int, pad_id: int, scaled: bool = True) -> None:
        super().__init__()
        self.pad_id = pad_id
        self.scale = math.sqrt(d_model) if scaled else 1.0
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))

    def forward(self, ids: Tensor) -> Tensor:
        """ids […] → […, D]."""
        return functional.embedding(ids, self.weight, padding_idx=self.pad_id) * self.scale


class PositionalEncoding(nn.Module):
    """§3.5: adds the sinusoid of each position, then dropout (§5.4)."""

    table: Tensor

    def __init__(
        self, max_length: int, d_model: int, layout: PositionLayout, dropout: float, offset: int = 0
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self._shape = (max_length, d_model, layout, offset)
        # Not persistent: it follows from the configuration.
        self.register_buffer("table", torch.empty(max_length, d_model), persistent=False)
        if not self.table.is_meta:
            self.rebuild(self.table.device)

    def forward(self, x: Tensor, first: int = 0) -> Tensor:
        """[B, T, D] at positions first … first + T − 1 → [B, T, D].

        Raises `ValueError` beyond `max_length`, where a slice would silently be too short.
        """
        end = first + x.shape[1]
        if end > len(self.table):
            raise ValueError(f"{end} tokens are more than max_length {len(self.table)}")
        output: Tensor = self.dropout(x + self.table[first:end])
        return output

    def rebuild(self, device: torch.device) -> None:
        """Compute the table, if it was created without storage or on another device."""
        self.table = torch.from_numpy(sinusoidal_positions(*self._shape)).to(device)


class OutputProjection(nn.Module):
    """§3.4: hidden states to logits over the target vocabulary, with optional bias."""

    def __init__(self, vocab_size: int, d_model: int, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        self.bias = nn.Parameter(torch.zeros(vocab_size)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """[…, D] → […, V] logits."""
        return functional.linear(x, self.weight, self.bias)
