"""A matrix in int8: codes in −127 … 127, and a scale for each of its rows or columns."""

from typing import NamedTuple, Self

import torch
from torch import Tensor

from model.training.int8 import kernels

_BLOCK = 4096
"""Tokens whose products are summed in int32, far below the 133,000 that would overflow."""


class Columns(NamedTuple):
    """codes [N, K], int8, and scales [K], float32: the matrix is codes · scales."""

    codes: Tensor
    scales: Tensor

    @classmethod
    def of(cls, matrix: Tensor) -> Self:
        rows = matrix.detach().contiguous()
        codes, scales = torch.empty(rows.shape, dtype=torch.int8), torch.empty(rows.shape[1])
        kernels.quantise_columns(rows.numpy(), codes.numpy(), scales.numpy())
        return cls(codes, scales)


class Rows(NamedTuple):
    """codes [N, K], int8, and scales [N], float32: the matrix is scales[:, None] · codes."""

    codes: Tensor
    scales: Tensor

    @classmethod
    def of(cls, matrix: Tensor) -> Self:
        """Round [N, K]. The scale of a row that is not finite is not finite."""
        rows = matrix.detach().contiguous()
        codes, scales = torch.empty(rows.shape, dtype=torch.int8), torch.empty(len(rows))
        kernels.quantise_rows(rows.numpy(), codes.numpy(), scales.numpy())
        return cls(codes, scales)

    @classmethod
    def empty(cls, rows: int, columns: int) -> Self:
        return cls(torch.empty(rows, columns, dtype=torch.int8), torch.empty(rows))

    def as_columns(self) -> Columns:
        """Convert to scales of columns, with rounding."""
        codes, scales = torch.empty_like(self.codes), torch.empty(self.codes.shape[1])
        kernels.exchange_scales(
            self.codes.numpy(), self.scales.numpy(), codes.numpy(), scales.numpy()
        )
        return Columns(codes, scales)

    def part(self, rows: slice) -> Self:
        """Return some rows, in the same memory."""
        return type(self)(self.codes[rows], self.scales[rows])


def outer_sum(left: Rows, right: Rows) -> Tensor:
    """left [N, M], right [N, K] → leftᵀ right [M, K], float32: the gradient of a weight matrix.

    Products over n need scales that do not depend on n: those of both sides are multiplied into the
    narrower one, which is rounded again, with a scale for each of its columns in a block of n.
    """
    n_rows, m, k = len(left.codes), left.codes.shape[1], right.codes.shape[1]
    left_is_narrow = m < k
    narrow, wide = (left.codes, right.codes) if left_is_narrow else (right.codes, left.codes)
    both = left.scales * right.scales
    ones = torch.ones(wide.shape[1]).numpy()
    output = torch.zeros(m, k)
    for start in range(0, n_rows, _BLOCK):
        block = slice(start, start + _BLOCK)
        part = Rows(narrow[block], both[block]).as_columns()
        scales = part.scales.numpy()
        if left_is_narrow:
            sums = torch._int_mm(part.codes.T, wide[block])
            kernels.add_rescaled(sums.numpy(), scales, ones, output.numpy())
        else:
            sums = torch._int_mm(wide[block].T, part.codes)
            kernels.add_rescaled(sums.numpy(), ones, scales, output.numpy())
    return output
