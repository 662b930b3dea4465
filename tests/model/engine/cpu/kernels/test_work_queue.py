import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from model.engine.cpu.kernels.arrays import Floats
from model.engine.cpu.kernels.linear import (
    MIN_SHARED_WEIGHTS,
    NO_FLOOR,
    RELU_FLOOR,
    Scratch,
    make_scratch,
    project,
    share_products,
)
from model.engine.cpu.kernels.packing import Linear, pack_float32, pack_int8
from model.engine.cpu.kernels.work_queue import (
    WorkQueue,
    claim,
    close_if_busy,
    close_queue,
    complete,
    is_open,
    make_work_queue,
    open_queue,
    publish,
    wait_for_all,
    wait_for_piece,
)
from tests.model.engine.cpu.matrices import normal

Pack = Callable[..., Linear]
PACKS = pytest.mark.parametrize("pack", [pack_int8, pack_float32])
LARGE = [(512, 520), (300, 1000), (2048, 130), (64, 4200), (1100, 260)]
"""Inputs by outputs: few pieces of many panels, many of few, several blocks of inputs."""


def new_queue() -> WorkQueue:
    return make_work_queue(np.zeros(1, np.int64), max_busy=1)


@contextmanager
def second_thread(linear: Linear, scratch: Scratch) -> Iterator[None]:
    own = scratch._replace(partial=np.zeros_like(scratch.partial))
    open_queue(scratch.queue)
    thread = threading.Thread(target=share_products, args=(linear, own))
    thread.start()
    try:
        yield
    finally:
        close_queue(scratch.queue)
        thread.join(30)
    assert not thread.is_alive()


def test_each_piece_is_claimed_once_and_none_beyond() -> None:
    queue = new_queue()
    assert claim(queue) == -1
    publish(queue, 3)
    assert [claim(queue) for _ in range(5)] == [0, 1, 2, -1, -1]
    publish(queue, 2)  # void claims of the previous product do not count
    assert [claim(queue) for _ in range(3)] == [0, 1, -1]
    for _ in range(2):
        complete(queue)
    wait_for_all(queue, 2)


def test_a_closed_queue_dismisses_the_second_thread() -> None:
    queue = new_queue()
    publish(queue, 1)
    assert not is_open(queue)
    assert wait_for_piece(queue) == -1
    open_queue(queue)
    assert wait_for_piece(queue) == 0


def test_the_queue_closes_when_another_engine_has_work() -> None:
    queue = new_queue()
    for n_busy, still_open in ((1, True), (2, False), (1, False)):
        if n_busy != 1 or still_open:
            open_queue(queue)
        queue.busy_engines[0] = n_busy
        close_if_busy(queue)
        assert is_open(queue) == still_open


def made(
    linear: Linear, x: Floats, layer: int, floor: np.float32, accumulate: bool, scratch: Scratch
) -> Floats:
    out = normal(len(x), linear.bias.shape[1], seed=9)
    project(x, len(x), linear, layer, floor, accumulate, scratch, out)
    return out


@PACKS
@pytest.mark.parametrize(("n_inputs", "n_outputs"), LARGE)
def test_two_threads_make_the_bits_of_one(pack: Pack, n_inputs: int, n_outputs: int) -> None:
    assert n_inputs * n_outputs >= MIN_SHARED_WEIGHTS
    weights = [normal(n_outputs, n_inputs, seed=seed) for seed in range(2)]
    linear = pack(weights, [normal(n_outputs, seed=3)] * 2)
    for n_rows in (1, 3, 9):
        x = normal(n_rows, n_inputs, seed=n_rows)
        alone = make_scratch(n_rows, n_inputs)
        shared = make_scratch(n_rows, n_inputs, new_queue())
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
    shared = make_scratch(2, 300, new_queue())
    open_queue(shared.queue)
    expected = made(linear, x, 0, NO_FLOOR, False, make_scratch(2, 300))
    assert made(linear, x, 0, NO_FLOOR, False, shared).tobytes() == expected.tobytes()


def test_the_second_thread_makes_pieces() -> None:
    """A piece that the first has claimed and not completed keeps the product open."""
    linear = pack_int8([normal(1000, 512)], [normal(1000)])
    x = normal(1, 512)
    shared = make_scratch(1, 512, new_queue())
    made(linear, x, 0, NO_FLOOR, False, shared)  # quantised, in the scratch
    expected = made(linear, x, 0, NO_FLOOR, False, make_scratch(1, 512))
    out = np.full((1, linear.bias.shape[1]), 7, np.float32)
    product = shared.queue.product[0]
    for name, array in (("x", x), ("out", out), ("weight", linear.weight), ("scale", linear.scale),
                        ("bias", linear.bias), ("following", linear.following)):  # fmt: skip
        product[name] = array.ctypes.data
    product["x_width"], product["n_rows"], product["out_width"] = 512, 1, out.shape[1]
    product["weights"], product["outputs"] = linear.weight.shape[1], linear.bias.shape[1]
    product["inputs"], product["panels"], product["floor"] = 512, 1, NO_FLOOR
    n_pieces = linear.bias.shape[1] // 64
    publish(shared.queue, n_pieces)
    with second_thread(linear, shared):
        wait_for_all(shared.queue, n_pieces)
    assert out.tobytes() == expected.tobytes()
