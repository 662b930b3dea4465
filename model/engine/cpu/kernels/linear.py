"""Linear maps over a few rows, of weights that `packing` laid out.

In int8, sums of products are whole numbers, hence exact, and a row's result does not depend on the
rows beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import carray, types
from numba.extending import overload
from numpy.typing import NDArray

from model.engine.cpu.kernels.board import (
    Board,
    await_all,
    await_piece,
    claim,
    hand_in,
    is_open,
    make_board,
    pointer,
    post,
)
from model.engine.cpu.kernels.jit import REORDERED, compiler_options, kernel
from model.engine.cpu.kernels.packing import LARGEST, SMALLEST, UNSIGNED, Linear, padded
from model.engine.cpu.kernels.tile import COLUMNS, GROUP, ROWS, float32_tile, int8_tile
from model.engine.cpu.kernels.types import Floats

NO_FLOOR = np.float32(-np.inf)
RELU_FLOOR = np.float32(0)


BLOCK = 512
"""Inputs whose weights of a panel, 32 kB, stay in the first-level cache from row to row."""


QUARTER = COLUMNS // 4
"""Bytes per input that a tile fetches ahead: a line of memory for each of its turns."""


PIECE = 1 << 17
"""Weights of a piece of a shared product, about; some microseconds. Smaller ones cost more to claim
than they gain, and the panel that is fetched ahead of the last one is another thread's."""

WORTH_SHARING = 2 * PIECE
"""Weights of a product that two threads make sooner than one."""


class Scratch(NamedTuple):
    """Where rows are quantised: their bytes, one row's scale and 128 × its sum.

    partial  [R · 64], sums of a panel's outputs over some of the inputs
    board    where large products are shared with a second thread, whose `partial` is another
    """

    quantised: NDArray[np.int8]
    row_scale: Floats
    row_sum: NDArray[np.int32]
    partial: NDArray[np.int32]
    board: Board


def make_scratch(n_rows: int, widest: int, board: Board | None = None) -> Scratch:
    """For up to `n_rows` rows of up to `widest` inputs; without a board nothing is shared."""
    return Scratch(
        np.zeros(n_rows * padded(widest, GROUP), np.int8),
        np.zeros(n_rows, np.float32),
        np.zeros(n_rows, np.int32),
        np.zeros(n_rows * COLUMNS, np.int32),
        board or make_board(np.zeros(1, np.int64), most=0),
    )


@kernel
def project(
    x: Floats, n_rows: int, linear: Linear, layer: int, floor: np.float32, accumulate: bool,
    scratch: Scratch, out: Floats,
) -> None:  # fmt: skip
    """out[:n_rows] = max(floor, x W + b), or out += x W + b with `accumulate`.

    x [R, ≥ K] and out [R, ≥ N] are C-contiguous, K and N padded: in int8 so many columns of x are
    read, those of the padding being zero, and so many of `out` are written.
    """
    prepare(x, n_rows, linear, scratch)
    project_prepared(x, n_rows, linear, layer, floor, accumulate, scratch, out)


@kernel
def project_prepared(
    x: Floats, n_rows: int, linear: Linear, layer: int, floor: np.float32, accumulate: bool,
    scratch: Scratch, out: Floats,
) -> None:  # fmt: skip
    """`project` after `prepare`, which maps of the same input share."""
    n_panels = linear.bias.shape[1] // COLUMNS
    board = scratch.board
    if n_panels * COLUMNS * linear.inputs < WORTH_SHARING or not is_open(board):
        _multiply_panels(x, n_rows, linear, layer, 0, n_panels, floor, accumulate, scratch, out)
        return
    panels = max(1, PIECE // (COLUMNS * linear.inputs))
    n_pieces = -(-n_panels // panels)
    product = board.product[0]
    product.x, product.x_width, product.n_rows = x.ctypes.data, x.shape[1], n_rows
    product.weight, product.weights = linear.weight.ctypes.data, linear.weight.shape[1]
    product.scale, product.bias = linear.scale.ctypes.data, linear.bias.ctypes.data
    product.outputs, product.inputs = linear.bias.shape[1], linear.inputs
    product.layer, product.accumulate, product.floor = layer, accumulate, floor
    product.out, product.out_width, product.panels = out.ctypes.data, out.shape[1], panels
    post(board, n_pieces)
    piece = claim(board)
    while piece >= 0:
        _multiply_panels(x, n_rows, linear, layer, piece * panels, panels, floor, accumulate,
                         scratch, out)  # fmt: skip
        hand_in(board)
        piece = claim(board)
    await_all(board, n_pieces)


@kernel
def take_part(like: Linear, scratch: Scratch) -> None:
    """Make pieces of the products on the board until it is closed. For the second thread.

    `like` is any map of those that are shared, for its types. `scratch` is that of the first
    thread but for `partial`.
    """
    board = scratch.board
    piece = await_piece(board)
    while piece >= 0:
        one = board.product[0]
        x = carray(pointer(one.x), (one.n_rows, one.x_width), np.float32)
        out = carray(pointer(one.out), (one.n_rows, one.out_width), np.float32)
        linear = Linear(
            carray(pointer(one.weight), (one.layer + 1, one.weights), like.weight.dtype),
            carray(pointer(one.scale), (one.layer + 1, one.outputs), np.float32),
            carray(pointer(one.bias), (one.layer + 1, one.outputs), np.float32),
            one.inputs,
        )
        _multiply_panels(x, one.n_rows, linear, one.layer, piece * one.panels, one.panels,
                         one.floor, one.accumulate != 0, scratch, out)  # fmt: skip
        hand_in(board)
        piece = await_piece(board)


@kernel
def _multiply_panels(
    x: Floats, n_rows: int, linear: Linear, layer: int, first: int, n_panels: int,
    floor: np.float32, accumulate: bool, scratch: Scratch, out: Floats,
) -> None:  # fmt: skip
    """So many panels from the first on, or as many as there are."""
    for panel in range(first, min(first + n_panels, linear.bias.shape[1] // COLUMNS)):
        multiply(x, 0, n_rows, linear, layer, panel, floor, accumulate, scratch, out,
                 panel * COLUMNS)  # fmt: skip


def prepare(x: Floats, n_rows: int, linear: Linear, scratch: Scratch) -> None:
    """What needs to be done to rows once for all panels. For kernels only."""
    raise NotImplementedError


def multiply(
    x: Floats, first: int, n_rows: int, linear: Linear, layer: int, panel: int, floor: np.float32,
    accumulate: bool, scratch: Scratch, out: Floats, column: int,
) -> None:  # fmt: skip
    """One panel of 64 columns, of the prepared rows first … first + n_rows − 1.

    It is written to out[:n_rows, column : column + 64]. For kernels only; else as `project`.
    """
    raise NotImplementedError


@overload(prepare, jit_options=compiler_options(REORDERED))  # type: ignore[untyped-decorator]
def _prepare(x: Floats, n_rows: int, linear: Linear, scratch: Scratch) -> Callable[..., None]:
    return _quantise if _is_int8(linear) else _leave


@overload(multiply, jit_options=compiler_options(fastmath=False))  # type: ignore[untyped-decorator]
def _multiply(
    x: Floats, first: int, n_rows: int, linear: Linear, layer: int, panel: int, floor: np.float32,
    accumulate: bool, scratch: Scratch, out: Floats, column: int,
) -> Callable[..., None]:  # fmt: skip
    return _multiply_int8 if _is_int8(linear) else _multiply_float32


def _is_int8(linear: Any) -> bool:
    """Of the compiler's type of a `Linear`."""
    return bool(linear[0].dtype == types.uint8)


def _leave(x: Floats, n_rows: int, linear: Linear, scratch: Scratch) -> None:
    pass


def _quantise(x: Floats, n_rows: int, linear: Linear, scratch: Scratch) -> None:
    """Each row to whole numbers −127 … 127, its largest magnitude to ±127; NaN makes it NaN."""
    width = linear.inputs
    for row in range(n_rows):
        values = x[row, :width]
        bits = values.view(np.int32)
        # Magnitudes compare as their bits do, which is vectorised, with NaN above infinity.
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
        scratch.row_sum[row] = total * UNSIGNED


def _multiply_int8(
    x: Floats, first: int, n_rows: int, linear: Linear, layer: int, panel: int,
    floor: np.float32, accumulate: bool, scratch: Scratch, out: Floats, column: int,
) -> None:  # fmt: skip
    bytes_, row_scale, row_sum, partial, _ = scratch
    weight, scale, bias, width = linear.weight, linear.scale, linear.bias, linear.inputs
    stride = out.shape[1]
    panel_at = layer * weight.shape[1] + panel * COLUMNS * width
    scale_at = layer * bias.shape[1] + panel * COLUMNS
    for begin in range(0, width, BLOCK):
        inputs = min(BLOCK, width - begin)
        weight_at = panel_at + begin * COLUMNS
        for done in range(0, n_rows, ROWS):
            row = first + done
            # What follows in memory is read next. Four tiles fetch it, a quarter each.
            quarter = done // ROWS % (COLUMNS // QUARTER)
            ahead_at = weight_at + (COLUMNS + quarter * QUARTER) * inputs
            arguments = (
                bytes_, row * width + begin, row_scale, row, row_sum, row, weight, weight_at,
                weight, ahead_at, scale, scale_at, bias, scale_at, partial, done * COLUMNS,
                out, done * stride + column, inputs, width, stride, floor, accumulate,
                begin == 0, begin + inputs == width,
            )  # fmt: skip
            int8_tile(n_rows - done, arguments)


def _multiply_float32(
    x: Floats, first: int, n_rows: int, linear: Linear, layer: int, panel: int,
    floor: np.float32, accumulate: bool, scratch: Scratch, out: Floats, column: int,
) -> None:  # fmt: skip
    weight, bias, width = linear.weight, linear.bias, linear.inputs
    x_stride, stride = x.shape[1], out.shape[1]
    weight_at = layer * weight.shape[1] + panel * COLUMNS * width
    bias_at = layer * bias.shape[1] + panel * COLUMNS
    for done in range(0, n_rows, ROWS):
        arguments = (
            x, (first + done) * x_stride, weight, weight_at, bias, bias_at, out,
            done * stride + column, width, x_stride, stride, floor, accumulate,
        )  # fmt: skip
        float32_tile(n_rows - done, arguments)
