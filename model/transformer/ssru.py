"""The simpler simple recurrent unit: a decoder sub-layer in place of masked self-attention.

Kim et al. 2019, From Research to Production and Back: Ludicrously Fast Neural Machine Translation
(WNGT), §3.2, after the simple recurrent unit of Lei et al. 2018. A step costs two products and an
element-wise update, and its state is one vector, whatever the length of the target.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn


class RecurrentState(NamedTuple):
    """The state of one layer after the steps so far, `cell` [R, D]."""

    cell: Tensor

    def select(self, rows: Tensor) -> RecurrentState:
        """Select rows of the batch, in the given order."""
        return RecurrentState(self.cell.index_select(0, rows))


class SSRU(nn.Module):
    """f_t = σ(W_f x_t + b_f), c_t = f_t ⊙ c_(t−1) + (1 − f_t) ⊙ W x_t, c_(−1) = 0.

    The output is max(0, c_t). W has no bias, and there is no output projection.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.w = nn.Linear(d_model, d_model, bias=False)
        self.w_f = nn.Linear(d_model, d_model)

    def start(self, rows: Tensor) -> RecurrentState:
        """Return the state before the first step, for as many rows as `rows` [R, …] has."""
        return RecurrentState(rows.new_zeros(len(rows), self.w.in_features))

    def forward(self, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """x [R, T, D] → outputs [R, T, D] and the state after the last position."""
        candidates, forget = self.w(x), torch.sigmoid(self.w_f(x))
        cell, cells = state.cell, []
        for t in range(x.shape[1]):
            cell = forget[:, t] * cell + (1 - forget[:, t]) * candidates[:, t]
            cells.append(cell)
        return torch.stack(cells, dim=1).relu(), RecurrentState(cell)
