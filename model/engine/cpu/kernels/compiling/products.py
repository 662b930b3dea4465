"""The parts of a product that are inlined into kernels, by the type of the weights: int8, float32.

`linear` is a `packing.Linear` and `scratch` a `linear.Scratch`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from model.engine.cpu.kernels.arrays import Floats
from model.engine.cpu.kernels.compiling.dispatcher import compiler_options
from model.engine.cpu.kernels.compiling.tile import float32_tile, int8_tile
from model.engine.cpu.kernels.instructions import (
    COLUMNS,
    GROUP,
    LARGEST,
    OFFSET,
    ROWS,
    SMALLEST,
    TILE_COLUMNS,
)

BLOCK_INPUTS = (1 << 15) // TILE_COLUMNS
"""Inputs whose weights of a tile, 32 kB, stay in the first-level cache from row to row."""

MAX_PACE = COLUMNS // 4
"""Bytes per input that a tile prefetches at most: a cache line for each of its turns."""


def prepare(x: Floats, n_rows: int, linear: Any, scratch: Any) -> None:
    """Prepare rows once for all panels. For kernels only."""
    raise NotImplementedError


def multiply(
    x: Floats, first: int, n_rows: int, earlier: int, n_all: int, linear: Any, layer: int,
    panel: int, floor: np.float32, accumulate: bool, scratch: Any, out: Floats, column: int,
) -> None:  # fmt: skip
    """Multiply the prepared rows first … first + n_rows − 1 by one panel of 64 columns.

    They are some of `n_all` rows that the panel is multiplied by, after `earlier` others: what
    follows it is fetched from memory meanwhile, evenly.
    Writes to out[:n_rows, column : column + 64]. For kernels only; otherwise as `project`.
    """
    raise NotImplementedError


def by_groups(weight: NDArray[np.uint8] | Floats) -> NDArray[np.unsignedinteger[Any]]:
    """View packed weights as one integer for each group of a column's inputs. For kernels only."""
    raise NotImplementedError


@overload(by_groups)  # type: ignore[untyped-decorator]
def _by_groups(weight: Any) -> Callable[..., Any]:
    group = getattr(types, f"uint{8 * GROUP if weight.dtype == types.uint8 else 32}")

    def view(weight: Any) -> Any:
        return weight.view(group)

    return view


@overload(prepare, jit_options=compiler_options(fastmath=False))  # type: ignore[untyped-decorator]
def _prepare(x: Floats, n_rows: int, linear: Any, scratch: Any) -> Callable[..., None]:
    return _quantise if _is_int8(linear) else _leave


@overload(multiply, jit_options=compiler_options(fastmath=False))  # type: ignore[untyped-decorator]
def _multiply(
    x: Floats, first: int, n_rows: int, earlier: int, n_all: int, linear: Any, layer: int,
    panel: int, floor: np.float32, accumulate: bool, scratch: Any, out: Floats, column: int,
) -> Callable[..., None]:  # fmt: skip
    return _multiply_int8 if _is_int8(linear) else _multiply_float32


def _is_int8(linear: Any) -> bool:
    """Whether the compiler's type of a `Linear` is int8."""
    return bool(linear[0].dtype == types.uint8)


def _leave(x: Floats, n_rows: int, linear: Any, scratch: Any) -> None:
    pass


def _quantise(x: Floats, n_rows: int, linear: Any, scratch: Any) -> None:
    """Quantise each row to −127 … 127, its largest magnitude to ±127; NaN makes the row NaN."""
    width = linear.inputs
    for row in range(n_rows):
        values = x[row, :width]
        bits = values.view(np.int32)
        # Magnitudes compare as their bits do, with NaN above infinity; this vectorises.
        largest_bits = np.int32(0)
        for column in range(width):
            magnitude = np.int32(bits[column] & np.int32(0x7FFFFFFF))
            largest_bits = max(magnitude, largest_bits)
        largest = np.int32(largest_bits).view(np.float32)
        inverse = np.float32(LARGEST) / largest if largest > SMALLEST else np.float32(0)
        quantised = scratch.quantised[row * width : (row + 1) * width]
        for column in range(width):
            quantised[column] = np.int32(np.rint(values[column] * inverse))
        total = np.int32(0)
        for column in range(width):
            total = np.int32(total + quantised[column])
        scratch.row_scale[row] = largest / np.float32(LARGEST)
        scratch.row_sum[row] = total * OFFSET


def _multiply_int8(
    x: Floats, first: int, n_rows: int, earlier: int, n_all: int, linear: Any, layer: int,
    panel: int, floor: np.float32, accumulate: bool, scratch: Any, out: Floats, column: int,
) -> None:  # fmt: skip
    codes, row_scale, row_sum, partial, _ = scratch
    weight, scale, bias, width = linear.weight, linear.scale, linear.bias, linear.inputs
    stride = out.shape[1]
    # Faster than this, the tiles would wait for what they fetch.
    pace = max(1, min(MAX_PACE, COLUMNS * ROWS // n_all))
    for part in range(0, COLUMNS, TILE_COLUMNS):
        scale_at = layer * bias.shape[1] + panel * COLUMNS + part
        tile_at = layer * weight.shape[1] + (panel * COLUMNS + part) * width
        for begin in range(0, width, BLOCK_INPUTS):
            inputs = min(BLOCK_INPUTS, width - begin)
            weight_at = tile_at + begin * TILE_COLUMNS
            ahead = weight.ctypes.data + weight_at + COLUMNS * inputs
            if begin + inputs == width and scale_at + COLUMNS == (layer + 1) * bias.shape[1]:
                ahead = linear.following[layer]
            for done in range(0, n_rows, ROWS):
                row = first + done
                ahead_at = ahead + (earlier + done) // ROWS * pace * inputs
                arguments = (
                    codes, row * width + begin, row_scale, row, row_sum, row, weight, weight_at,
                    scale, scale_at, bias, scale_at, partial, done * TILE_COLUMNS, out,
                    done * stride + column + part, ahead_at, pace, inputs, width, stride, floor,
                    accumulate, begin == 0, begin + inputs == width,
                )  # fmt: skip
                int8_tile(n_rows - done, arguments)


def _multiply_float32(
    x: Floats, first: int, n_rows: int, earlier: int, n_all: int, linear: Any, layer: int,
    panel: int, floor: np.float32, accumulate: bool, scratch: Any, out: Floats, column: int,
) -> None:  # fmt: skip
    weight, bias, width = linear.weight, linear.bias, linear.inputs
    x_stride, stride = x.shape[1], out.shape[1]
    for part in range(0, COLUMNS, TILE_COLUMNS):
        weight_at = layer * weight.shape[1] + (panel * COLUMNS + part) * width
        bias_at = layer * bias.shape[1] + panel * COLUMNS + part
        for done in range(0, n_rows, ROWS):
            arguments = (
                x, (first + done) * x_stride, weight, weight_at, bias, bias_at, out,
                done * stride + column + part, width, x_stride, stride, floor, accumulate,
            )  # fmt: skip
            float32_tile(n_rows - done, arguments)
