"""Where one thread posts a matrix product, so that a second one may take part in it.

A product is made in *pieces*, some panels of 64 columns each. Both threads claim pieces by counting
up one word in memory, so neither waits for the other to arrive: if the second one never comes, the
first makes all of them. Each element is computed as it would be by one thread, hence its bits do
not depend on who computed it.

The word that is counted holds the number of pieces, too. A claim beyond it is void, whatever
product is posted meanwhile, and a valid one holds its product open: the first thread waits for it.
"""

from __future__ import annotations

import platform
import sys
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from model.engine.cpu.kernels.jit import kernel
from model.engine.cpu.kernels.llvm import data, declare
from model.engine.cpu.kernels.types import Ints, Records

_LINE = 16
"""Numbers of 64 bits between two words: as much memory as a processor moves at once, twice."""

_CLAIMED, _DONE, _OPEN = 0, _LINE, 2 * _LINE
_BITS = 32
"""Of a claim: the number of the piece; above are how many pieces there are."""

_PATIENCE = 2_000
"""Turns of waiting, some tens of microseconds, after which the processor is offered to others."""

_PRODUCT = np.dtype(
    [
        *((name, np.int64) for name in (
            "x", "x_width", "n_rows", "weight", "weights", "scale", "bias", "outputs", "inputs",
            "layer", "accumulate", "out", "out_width", "panels",
        )),
        ("floor", np.float32),
    ],
    align=True,
)  # fmt: skip


class Board(NamedTuple):
    """What two threads share.

    words    counted by both: pieces claimed, pieces done, and whether a second thread takes part
    product  [1], what is posted: the arguments of `linear.project_prepared`, arrays as addresses,
             and the panels of a piece
    crowd    [1], engines of this process that have work
    most     in the crowd, for a second thread to take part
    """

    words: Ints
    product: Records
    crowd: Ints
    most: int


def make_board(crowd: Ints, most: int) -> Board:
    """Nobody takes part until `open_board`."""
    return Board(np.zeros(3 * _LINE, np.int64), np.zeros(1, _PRODUCT), crowd, most)


def open_board(board: Board) -> None:
    """A second thread takes part in the products that follow."""
    board.words[_OPEN] = 1


def close_board(board: Board) -> None:
    """It does not any more. Between two products."""
    board.words[_OPEN] = 0


@kernel
def is_open(board: Board) -> bool:
    """Whether a second thread may take part."""
    return bool(_read(board.words, _OPEN))


@kernel
def make_way(board: Board) -> None:
    """Close the board if other engines need the processor. Between two products."""
    if is_open(board) and board.crowd[0] > board.most:
        _write(board.words, _OPEN, 0)


@kernel
def post(board: Board, n_pieces: int) -> None:
    """Offer the product that was written to the board."""
    _write(board.words, _DONE, 0)
    _write(board.words, _CLAIMED, n_pieces << _BITS)


@kernel
def claim(board: Board) -> int:
    """The number of a piece that is now the caller's, or −1 if there are no more."""
    before = _add(board.words, _CLAIMED, 1)
    piece = before & ((1 << _BITS) - 1)
    return piece if piece < before >> _BITS else -1


@kernel
def hand_in(board: Board) -> None:
    """The piece that was claimed is done."""
    _add(board.words, _DONE, 1)


@kernel
def await_all(board: Board, n_pieces: int) -> None:
    """Wait until all pieces are done. For the thread that posted them."""
    turns = 0
    while _read(board.words, _DONE) < n_pieces:
        turns = _wait(turns)


@kernel
def await_piece(board: Board) -> int:
    """Wait for a product and claim a piece; −1 once the board is closed. For the second thread."""
    turns = 0
    while is_open(board):
        claimed = _read(board.words, _CLAIMED)
        if claimed & ((1 << _BITS) - 1) < claimed >> _BITS:
            piece = claim(board)
            if piece >= 0:
                return piece
        turns = _wait(turns)
    return -1


@kernel
def _wait(turns: int) -> int:
    if turns >= _PATIENCE:
        _offer_processor()
    else:
        _pause()
    return turns + 1


@intrinsic  # type: ignore[untyped-decorator]
def pointer(typing_context: Any, address: Any) -> Any:
    """An address as what `numba.carray` takes."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        return b.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _read(typing_context: Any, words: Any, at: Any) -> Any:
    """words[at]; nothing that comes later is read before."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        return b.load_atomic(data(context, b, signature, arguments, 0), "seq_cst", 8)

    return types.int64(words, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _write(typing_context: Any, words: Any, at: Any, value: Any) -> Any:
    """words[at] = value, once all that came earlier is written."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        b.store_atomic(arguments[2], data(context, b, signature, arguments, 0), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(words, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _add(typing_context: Any, words: Any, at: Any, value: Any) -> Any:
    """words[at] += value; returns what it was."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        place = data(context, b, signature, arguments, 0)
        return b.atomic_rmw("add", place, arguments[2], "seq_cst")

    return types.int64(words, types.int64, types.int64), generate


_PAUSE = {"x86_64": "llvm.x86.sse2.pause", "AMD64": "llvm.x86.sse2.pause"}


@intrinsic  # type: ignore[untyped-decorator]
def _pause(typing_context: Any) -> Any:
    """Leave the units of this core to whoever shares them, for some cycles."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        if name := _PAUSE.get(platform.machine()):
            b.call(declare(b.module, ir.FunctionType(ir.VoidType(), []), name), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic  # type: ignore[untyped-decorator]
def _offer_processor(typing_context: Any) -> Any:
    """Let another thread run that waits for this core."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        if sys.platform != "win32":
            kind = ir.FunctionType(ir.IntType(32), [])
            b.call(declare(b.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), generate
