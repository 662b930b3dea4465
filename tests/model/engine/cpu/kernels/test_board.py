from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from model.engine.cpu.kernels.board import (
    Board,
    await_all,
    await_piece,
    claim,
    close_board,
    hand_in,
    is_open,
    make_board,
    make_way,
    open_board,
    post,
)
from model.engine.cpu.kernels.linear import (
    NO_FLOOR,
    RELU_FLOOR,
    WORTH_SHARING,
    Scratch,
    make_scratch,
    project,
    take_part,
)
from model.engine.cpu.kernels.packing import Linear, pack_float32, pack_int8
from model.engine.cpu.kernels.types import Floats
from tests.model.engine.cpu.matrices import normal

Pack = Callable[..., Linear]
PACKS = pytest.mark.parametrize("pack", [pack_int8, pack_float32])
LARGE = [(512, 520), (300, 1000), (2048, 130), (64, 4200), (1100, 260)]
"""Inputs by outputs: few pieces of many panels, many of few, several blocks of inputs."""


def new_board() -> Board:
    return make_board(np.zeros(1, np.int64), most=1)


@contextmanager
def second_thread(linear: Linear, scratch: Scratch) -> Iterator[None]:
    own = scratch._replace(partial=np.zeros_like(scratch.partial))
    open_board(scratch.board)
    thread = threading.Thread(target=take_part, args=(linear, own))
    thread.start()
    try:
        yield
    finally:
        close_board(scratch.board)
        thread.join(30)
    assert not thread.is_alive()


def test_each_piece_is_claimed_once_and_none_beyond() -> None:
    board = new_board()
    assert claim(board) == -1
    post(board, 3)
    assert [claim(board) for _ in range(5)] == [0, 1, 2, -1, -1]
    post(board, 2)  # what was claimed in vain of the one before does not count
    assert [claim(board) for _ in range(3)] == [0, 1, -1]
    for _ in range(2):
        hand_in(board)
    await_all(board, 2)


def test_a_closed_board_sends_the_second_thread_away() -> None:
    board = new_board()
    post(board, 1)
    assert not is_open(board)
    assert await_piece(board) == -1
    open_board(board)
    assert await_piece(board) == 0


def test_the_board_closes_where_another_engine_has_work() -> None:
    board = new_board()
    for crowd, still_open in ((1, True), (2, False), (1, False)):
        if crowd != 1 or still_open:
            open_board(board)
        board.crowd[0] = crowd
        make_way(board)
        assert is_open(board) == still_open


def made(
    linear: Linear, x: Floats, layer: int, floor: np.float32, accumulate: bool, scratch: Scratch
) -> Floats:
    out = normal(len(x), linear.bias.shape[1], seed=9)
    project(x, len(x), linear, layer, floor, accumulate, scratch, out)
    return out


@PACKS
@pytest.mark.parametrize(("n_inputs", "n_outputs"), LARGE)
def test_two_threads_make_the_bits_of_one(pack: Pack, n_inputs: int, n_outputs: int) -> None:
    assert n_inputs * n_outputs >= WORTH_SHARING
    weights = [normal(n_outputs, n_inputs, seed=seed) for seed in range(2)]
    linear = pack(weights, [normal(n_outputs, seed=3)] * 2)
    for n_rows in (1, 3, 9):
        x = normal(n_rows, n_inputs, seed=n_rows)
        alone = make_scratch(n_rows, n_inputs)
        shared = make_scratch(n_rows, n_inputs, new_board())
        with second_thread(linear, shared):
            for _ in range(10):
                for layer, floor, accumulate in ((0, NO_FLOOR, True), (1, RELU_FLOOR, False)):
                    arguments = (linear, x, layer, floor, accumulate)
                    expected = made(*arguments, alone)
                    assert made(*arguments, shared).tobytes() == expected.tobytes()


@PACKS
def test_one_thread_makes_all_if_the_second_does_not_come(pack: Pack) -> None:
    linear = pack([normal(1000, 300)], [normal(1000)])
    x = normal(2, 300)
    shared = make_scratch(2, 300, new_board())
    open_board(shared.board)
    expected = made(linear, x, 0, NO_FLOOR, False, make_scratch(2, 300))
    assert made(linear, x, 0, NO_FLOOR, False, shared).tobytes() == expected.tobytes()


def test_the_second_thread_makes_pieces() -> None:
    """What the first has claimed and not made yet holds the product open."""
    linear = pack_int8([normal(1000, 512)], [normal(1000)])
    x = normal(1, 512)
    shared = make_scratch(1, 512, new_board())
    made(linear, x, 0, NO_FLOOR, False, shared)  # quantised, in the scratch
    expected = made(linear, x, 0, NO_FLOOR, False, make_scratch(1, 512))
    out = np.full((1, linear.bias.shape[1]), 7, np.float32)
    product = shared.board.product[0]
    for name, array in (("x", x), ("out", out), ("weight", linear.weight), ("scale", linear.scale),
                        ("bias", linear.bias)):  # fmt: skip
        product[name] = array.ctypes.data
    product["x_width"], product["n_rows"], product["out_width"] = 512, 1, out.shape[1]
    product["weights"], product["outputs"] = linear.weight.shape[1], linear.bias.shape[1]
    product["inputs"], product["panels"], product["floor"] = 512, 1, NO_FLOOR
    n_pieces = linear.bias.shape[1] // 64
    post(shared.board, n_pieces)
    with second_thread(linear, shared):
        await_all(shared.board, n_pieces)
    assert out.tobytes() == expected.tobytes()
