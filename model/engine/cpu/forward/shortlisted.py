"""The output layer of sentences with a shortlist: their candidates' columns, copied when they join.

A copy has the layout of the whole layer, so the same product and the same search of the best tokens
run on it; a token is its index among the candidates there, and they are ascending.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from model.engine.cpu.forward.slots import Slots
from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.kernels.arrays import Ints
from model.engine.cpu.kernels.instructions import COLUMNS, GROUP, OFFSET, TILE_COLUMNS
from model.engine.cpu.kernels.intrinsics import by_groups, carray, pointer
from model.engine.cpu.kernels.jit import kernel
from model.engine.cpu.kernels.packing import Linear, padded

_GROUP = getattr(np, f"uint{8 * GROUP}")
_TO_PACKED = np.uint64(int.from_bytes(bytes([OFFSET] * GROUP), "little"))
"""Adds what `packing` adds, 128 or 0, to each byte of a group."""


class OutputColumns(NamedTuple):
    """Candidates [n], ascending, and their columns of the output layer."""

    ids: Ints
    columns: Linear

    @property
    def n_bytes(self) -> int:
        return sum(one.nbytes for one in (self.ids, *self.columns[:3]))

    @property
    def record(self) -> tuple[int, ...]:
        """An element of `Slots.columns`, valid as long as this object is kept."""
        weight, scale, bias, *_ = self.columns
        arrays = (self.ids, weight, scale, bias)
        return (len(self.ids), *(one.ctypes.data for one in arrays))


def allocate_columns(output: Linear, ids: Ints) -> OutputColumns:
    """Allocate the columns of candidates, to be copied by `copy_columns`."""
    n_columns = padded(len(ids), COLUMNS)
    columns = Linear(
        np.zeros((1, n_columns * output.inputs), output.weight.dtype),
        np.zeros((1, n_columns), np.float32),
        np.full((1, n_columns), -np.inf, np.float32),  # of the padding
        output.inputs,
        output.following,
    )
    return OutputColumns(ids, columns)


@kernel
def columns_of(slots: Slots, slot: int, output: Linear) -> OutputColumns:
    """The columns of a slot's sentence; `output` is the whole layer."""
    one = slots.columns[slot]
    n_columns = padded_columns(one.n)
    size = n_columns * output.inputs
    return OutputColumns(
        carray(pointer(one.ids), (one.n,), np.int64),
        Linear(
            carray(pointer(one.weight), (1, size), output.weight.dtype),
            carray(pointer(one.scale), (1, n_columns), np.float32),
            carray(pointer(one.bias), (1, n_columns), np.float32),
            output.inputs,
            output.following,
        ),
    )


@kernel
def padded_columns(n: int) -> int:
    """The next multiple of the columns of a panel."""
    return -(-n // COLUMNS) * COLUMNS


@kernel
def copy_columns(weights: Weights, slots: Slots, slot: int) -> None:
    """Copy the columns of a sentence's candidates, which join with it.

    The codes of a tied embedding are contiguous, so copying them is faster.
    """
    output, codes = weights.output, weights.target_embedding.codes
    has_codes = weights.shape.tie_output and codes.shape[1] == output.inputs and len(codes) > 0
    ids, columns = columns_of(slots, slot, output)
    source, target = by_groups(output.weight[0]), by_groups(columns.weight[0])
    n_groups = len(target) // columns.bias.shape[1]
    for index in range(len(ids)):
        token = ids[index]
        columns.scale[0, index] = output.scale[0, token]
        columns.bias[0, index] = output.bias[0, token]
        to = index // TILE_COLUMNS * TILE_COLUMNS * n_groups + index % TILE_COLUMNS
        if has_codes:
            groups = codes[token].view(_GROUP)
            for group in range(n_groups):
                target[to + group * TILE_COLUMNS] = groups[group] ^ _TO_PACKED
        else:
            start = token // TILE_COLUMNS * TILE_COLUMNS * n_groups + token % TILE_COLUMNS
            for group in range(n_groups):
                target[to + group * TILE_COLUMNS] = source[start + group * TILE_COLUMNS]
