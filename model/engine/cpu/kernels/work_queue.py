"""The queue through which two threads share a matrix product.

A product is divided into *pieces* of some panels of 64 columns each. Both threads claim pieces by
incrementing one word in memory, so neither waits for the other to arrive: if the second one never
comes, the first computes all of them. Each element is computed as it would be by one thread, hence
its bits do not depend on who computed it.

The claimed word also holds the number of pieces. A claim beyond it is void, whatever product is
published meanwhile, and a valid one keeps its product open: the first thread waits for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from model.engine.cpu.kernels.arrays import Ints, Records
from model.engine.cpu.kernels.intrinsics import (
    add_word,
    pause,
    read_word,
    write_word,
    yield_processor,
)
from model.engine.cpu.kernels.jit import kernel

_PADDING = 16
"""Numbers of 64 bits between two words: two cache lines, so that no line is shared."""

_CLAIMED, _DONE, _OPEN = 0, _PADDING, 2 * _PADDING
_PIECE_BITS = 32
"""Low bits of a claim, for the piece; the high bits hold the number of pieces."""

_SPINS_BEFORE_YIELD = 2_000
"""Some tens of microseconds of waiting, after which the processor is yielded to other threads."""

_PRODUCT = np.dtype(
    [
        *((name, np.int64) for name in (
            "x", "x_width", "n_rows", "weight", "weights", "scale", "bias", "outputs", "inputs",
            "following", "layer", "accumulate", "out", "out_width", "panels",
        )),
        ("floor", np.float32),
    ],
    align=True,
)  # fmt: skip


class WorkQueue(NamedTuple):
    """Memory that two threads share.

    words         incremented by both: pieces claimed, pieces done, whether the queue is open
    product       [1], the published one: the arguments of `linear.project_prepared`, arrays as
                  addresses, and the panels of a piece
    busy_engines  [1], engines of this process that have work
    max_busy      of these, at which a second thread takes part
    """

    words: Ints
    product: Records
    busy_engines: Ints
    max_busy: int


def make_work_queue(busy_engines: Ints, max_busy: int) -> WorkQueue:
    """Return a closed queue."""
    return WorkQueue(
        np.zeros(3 * _PADDING, np.int64), np.zeros(1, _PRODUCT), busy_engines, max_busy
    )


def open_queue(queue: WorkQueue) -> None:
    """Share the products that follow with a second thread."""
    queue.words[_OPEN] = 1


def close_queue(queue: WorkQueue) -> None:
    """Stop sharing products. Between two products."""
    queue.words[_OPEN] = 0


@kernel
def is_open(queue: WorkQueue) -> bool:
    """Whether a second thread may take part."""
    return bool(read_word(queue.words, _OPEN))


@kernel
def close_if_busy(queue: WorkQueue) -> None:
    """Close the queue if other engines need the processor. Between two products."""
    if is_open(queue) and queue.busy_engines[0] > queue.max_busy:
        write_word(queue.words, _OPEN, 0)


@kernel
def publish(queue: WorkQueue, n_pieces: int) -> None:
    """Offer the product that was written to the queue."""
    write_word(queue.words, _DONE, 0)
    write_word(queue.words, _CLAIMED, n_pieces << _PIECE_BITS)


@kernel
def claim(queue: WorkQueue) -> int:
    """Claim a piece for the caller; −1 if there are no more."""
    before = add_word(queue.words, _CLAIMED, 1)
    piece = before & ((1 << _PIECE_BITS) - 1)
    return piece if piece < before >> _PIECE_BITS else -1


@kernel
def complete(queue: WorkQueue) -> None:
    """Report a claimed piece as done."""
    add_word(queue.words, _DONE, 1)


@kernel
def wait_for_all(queue: WorkQueue, n_pieces: int) -> None:
    """Wait until all pieces are done. For the thread that published them."""
    n_spins = 0
    while read_word(queue.words, _DONE) < n_pieces:
        n_spins = _wait(n_spins)


@kernel
def wait_for_piece(queue: WorkQueue) -> int:
    """Wait for a product and claim a piece; −1 once the queue is closed. For the second thread."""
    n_spins = 0
    while is_open(queue):
        claimed = read_word(queue.words, _CLAIMED)
        if claimed & ((1 << _PIECE_BITS) - 1) < claimed >> _PIECE_BITS:
            piece = claim(queue)
            if piece >= 0:
                return piece
        n_spins = _wait(n_spins)
    return -1


@kernel
def _wait(n_spins: int) -> int:
    if n_spins >= _SPINS_BEFORE_YIELD:
        yield_processor()
    else:
        pause()
    return n_spins + 1
