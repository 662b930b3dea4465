"""Linear maps over a few rows, of weights that `packing` laid out.

In int8, sums of products are whole numbers, hence exact, and a row's result does not depend on the
other rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.engine.cpu.kernels.arrays import Floats
from model.engine.cpu.kernels.instructions import COLUMNS, GROUP, INSTRUCTION
from model.engine.cpu.kernels.intrinsics import carray, multiply, pointer, prepare
from model.engine.cpu.kernels.jit import kernel
from model.engine.cpu.kernels.packing import Linear, padded
from model.engine.cpu.kernels.work_queue import (
    WorkQueue,
    claim,
    complete,
    is_open,
    make_work_queue,
    publish,
    wait_for_all,
    wait_for_piece,
)

NO_FLOOR = np.float32(-np.inf)
RELU_FLOOR = np.float32(0)

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
