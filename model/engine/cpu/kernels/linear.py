"""Linear maps over a few rows, of weights that `packing` laid out.

In int8, sums of products are whole numbers, hence exact, and a row's result does not depend on the
other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import carray, types
from numba.extending import overload
from numpy.typing import NDArray

from model.engine.cpu.kernels.arrays import Floats
from model.engine.cpu.kernels.instructions import INSTRUCTION
from model.engine.cpu.kernels.jit import compiler_options, kernel
from model.engine.cpu.kernels.packing import GROUP, LARGEST, OFFSET, SMALLEST, Linear, padded
from model.engine.cpu.kernels.tile import COLUMNS, ROWS, TILE_COLUMNS, float32_tile, int8_tile
from model.engine.cpu.kernels.work_queue import (
    WorkQueue,
    claim,
    complete,
    is_open,
    make_work_queue,
    pointer,
    publish,
    wait_for_all,
    wait_for_piece,
)

NO_FLOOR = np.float32(-np.inf)
RELU_FLOOR = np.float32(0)

BLOCK_INPUTS = (1 << 15) // TILE_COLUMNS
"""Inputs whose weights of a tile, 32 kB, stay in the first-level cache from row to row."""

MAX_PACE = COLUMNS // 4
"""Bytes per input that a tile prefetches at most: a cache line for each of its turns."""

PIECE_WEIGHTS = 1 << 17
"""Approximate weights of a piece of a shared product; some microseconds. Smaller pieces cost more
to claim than they gain, and the panel prefetched after the last one is another thread's."""

MIN_SHARED_WEIGHTS = 2 * PIECE_WEIGHTS
"""Weights of the smallest product that two threads compute faster than one."""


class Scratch(NamedTuple):
    """Quantised rows: their codes, each row's scale and its sum × what is added to weights.

    partial  [R · 64], sums of a tile's outputs over some of the inputs; each thread has its own
    queue    through which large products are shared with a second thread
    """

    quantised: NDArray[np.int8] | NDArray[np.int16]
    row_scale: Floats
    row_sum: NDArray[np.int32]
    partial: NDArray[np.int32]
    queue: WorkQueue


def make_scratch(n_rows: int, widest: int, queue: WorkQueue | None = None) -> Scratch:
    """For up to `n_rows` rows of up to `widest` inputs; without a queue nothing is shared."""
    return Scratch(
        np.zeros(n_rows * padded(widest, GROUP), f"int{INSTRUCTION.bits}"),
        np.zeros(n_rows, np.float32),
        np.zeros(n_rows, np.int32),
        np.zeros(n_rows * COLUMNS, np.int32),
        queue or make_work_queue(np.zeros(1, np.int64), max_busy=0),
    )


@kernel
def project(
    x: Floats, n_rows: int, linear: Linear, layer: int, floor: np.float32, accumulate: bool,
    scratch: Scratch, out: Floats,
) -> None:  # fmt: skip
    """out[:n_rows] = max(floor, x W + b), or out += x W + b with `accumulate`.

    x [R, ≥ K] and out [R, ≥ N] are C-contiguous, K and N padded: in int8 the padding of x is read
    and must be zero, and that of `out` is written.
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
    queue = scratch.queue
    if n_panels * COLUMNS * linear.inputs < MIN_SHARED_WEIGHTS or not is_open(queue):
        _multiply_panels(x, n_rows, linear, layer, 0, n_panels, floor, accumulate, scratch, out)
        return
    panels = max(1, PIECE_WEIGHTS // (COLUMNS * linear.inputs))
    n_pieces = -(-n_panels // panels)
    product = queue.product[0]
    product.x, product.x_width, product.n_rows = x.ctypes.data, x.shape[1], n_rows
    product.weight, product.weights = linear.weight.ctypes.data, linear.weight.shape[1]
    product.scale, product.bias = linear.scale.ctypes.data, linear.bias.ctypes.data
    product.following = linear.following.ctypes.data
    product.outputs, product.inputs = linear.bias.shape[1], linear.inputs
    product.layer, product.accumulate, product.floor = layer, accumulate, floor
    product.out, product.out_width, product.panels = out.ctypes.data, out.shape[1], panels
    publish(queue, n_pieces)
    piece = claim(queue)
    while piece >= 0:
        _multiply_panels(x, n_rows, linear, layer, piece * panels, panels, floor, accumulate,
                         scratch, out)  # fmt: skip
        complete(queue)
        piece = claim(queue)
    wait_for_all(queue, n_pieces)


@kernel
def share_products(like: Linear, scratch: Scratch) -> None:
    """Compute pieces of the published products until the queue closes. For the second thread.

    `like` is any of the shared maps, for its types. `scratch` is that of the first thread except
    for `partial`.
    """
    queue = scratch.queue
    piece = wait_for_piece(queue)
    while piece >= 0:
        one = queue.product[0]
        x = carray(pointer(one.x), (one.n_rows, one.x_width), np.float32)
        out = carray(pointer(one.out), (one.n_rows, one.out_width), np.float32)
        linear = Linear(
            carray(pointer(one.weight), (one.layer + 1, one.weights), like.weight.dtype),
            carray(pointer(one.scale), (one.layer + 1, one.outputs), np.float32),
            carray(pointer(one.bias), (one.layer + 1, one.outputs), np.float32),
            one.inputs,
            carray(pointer(one.following), (one.layer + 1,), np.int64),
        )
        _multiply_panels(x, one.n_rows, linear, one.layer, piece * one.panels, one.panels,
                         one.floor, one.accumulate != 0, scratch, out)  # fmt: skip
        complete(queue)
        piece = wait_for_piece(queue)


@kernel
def _multiply_panels(
    x: Floats, n_rows: int, linear: Linear, layer: int, first: int, n_panels: int,
    floor: np.float32, accumulate: bool, scratch: Scratch, out: Floats,
) -> None:  # fmt: skip
    """At most `n_panels` panels, from the first."""
    for panel in range(first, min(first + n_panels, linear.bias.shape[1] // COLUMNS)):
        multiply(x, 0, n_rows, 0, n_rows, linear, layer, panel, floor, accumulate, scratch, out,
                 panel * COLUMNS)  # fmt: skip


def prepare(x: Floats, n_rows: int, linear: Linear, scratch: Scratch) -> None:
    """Prepare rows once for all panels. For kernels only."""
    raise NotImplementedError


def multiply(
    x: Floats, first: int, n_rows: int, earlier: int, n_all: int, linear: Linear, layer: int,
    panel: int, floor: np.float32, accumulate: bool, scratch: Scratch, out: Floats, column: int,
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
def _prepare(x: Floats, n_rows: int, linear: Linear, scratch: Scratch) -> Callable[..., None]:
    return _quantise if _is_int8(linear) else _leave


@overload(multiply, jit_options=compiler_options(fastmath=False))  # type: ignore[untyped-decorator]
def _multiply(
    x: Floats, first: int, n_rows: int, earlier: int, n_all: int, linear: Linear, layer: int,
    panel: int, floor: np.float32, accumulate: bool, scratch: Scratch, out: Floats, column: int,
) -> Callable[..., None]:  # fmt: skip
    return _multiply_int8 if _is_int8(linear) else _multiply_float32


def _is_int8(linear: Any) -> bool:
    """Whether the compiler's type of a `Linear` is int8."""
    return bool(linear[0].dtype == types.uint8)


def _leave(x: Floats, n_rows: int, linear: Linear, scratch: Scratch) -> None:
    pass


def _quantise(x: Floats, n_rows: int, linear: Linear, scratch: Scratch) -> None:
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
    x: Floats, first: int, n_rows: int, earlier: int, n_all: int, linear: Linear, layer: int,
    panel: int, floor: np.float32, accumulate: bool, scratch: Scratch, out: Floats, column: int,
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
    x: Floats, first: int, n_rows: int, earlier: int, n_all: int, linear: Linear, layer: int,
    panel: int, floor: np.float32, accumulate: bool, scratch: Scratch, out: Floats, column: int,
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
