"""A second thread for the products of an engine, while other engines have nothing to do.

A sentence on its own waits for the weights: each token needs all of them, and a core reads them
from memory only so fast. Two cores read twice as fast.
"""

from __future__ import annotations

import itertools
import threading
import weakref

import numpy as np

from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.kernels.board import close_board, make_board, open_board
from model.engine.cpu.kernels.linear import WORTH_SHARING, Scratch, make_scratch, take_part
from model.engine.cpu.kernels.packing import Linear


class Crowd:
    """The engines of this process that have work: each of them needs a core of its own.

    size  [1], how many there are, for kernels to read
    """

    def __init__(self) -> None:
        self.size = np.zeros(1, np.int64)
        self._members: set[int] = set()
        self._lock = threading.Lock()

    def enter(self, member: int) -> None:
        """Join, unless already in."""
        with self._lock:
            self._members.add(member)
            self.size[0] = len(self._members)

    def leave(self, member: int) -> None:
        """Leave, if in."""
        with self._lock:
            self._members.discard(member)
            self.size[0] = len(self._members)


CROWD = Crowd()
_numbers = itertools.count()


class Partner:
    """Takes part in the products of one engine among `n_threads`.

    It does so while at most half of them have work, if the model is large enough to be worth it.
    Its thread starts when it is first needed and ends with the engine, which it does not refer to.

    board  for the engine's workspace
    """

    def __init__(self, engine: object, weights: Weights, n_threads: int) -> None:
        self.board = make_board(CROWD.size, n_threads // 2 if _is_worth_it(weights) else 0)
        self._like = _like(weights)
        self._call = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._number = next(_numbers)
        weakref.finalize(engine, _end, self._number, self._call, self._ended)

    def enter(self) -> None:
        """Say that the engine has work."""
        CROWD.enter(self._number)

    def leave(self) -> None:
        """Say that it has none."""
        CROWD.leave(self._number)

    def begin(self, scratch: Scratch) -> None:
        """Take part in what is computed with `scratch` from now on, if there is a core for it."""
        if self.board.crowd[0] > self.board.most:
            return
        if self._thread is None:
            own = scratch._replace(partial=np.zeros_like(scratch.partial))
            arguments = (self._like, own, self._call, self._ended)
            name = f"partner-{self._number}"
            self._thread = threading.Thread(target=_serve, args=arguments, name=name, daemon=True)
            self._thread.start()
        open_board(self.board)
        self._call.set()

    def end(self) -> None:
        """Take part no more. Between two products."""
        close_board(self.board)


def compile_partner(weights: Weights) -> None:
    """Compile what a partner runs, for weights of this precision."""
    take_part(_like(weights), make_scratch(1, 1))


def _is_worth_it(weights: Weights) -> bool:
    found = (weights.output, weights.decoder.w_1, weights.encoder.w_1)
    return any(one.bias.shape[1] * one.inputs >= WORTH_SHARING for one in found)


def _like(weights: Weights) -> Linear:
    """Return a map of the same types, without memory: a thread would keep the model's."""
    none = np.zeros((1, 1), np.float32)
    return Linear(np.zeros_like(weights.output.weight[:1, :1]), none, none, 1)


def _serve(like: Linear, scratch: Scratch, call: threading.Event, ended: threading.Event) -> None:
    while True:
        call.wait()
        if ended.is_set():
            return
        call.clear()
        take_part(like, scratch)


def _end(number: int, call: threading.Event, ended: threading.Event) -> None:
    CROWD.leave(number)
    ended.set()
    call.set()
