"""A second thread for the products of an engine while other engines are idle.

A single sentence is limited by memory bandwidth: each token needs all weights, and a core reads
them from memory only so fast. Two cores read twice as fast.
"""

from __future__ import annotations

import itertools
import threading
import weakref

import numpy as np

from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.kernels.linear import (
    MIN_SHARED_WEIGHTS,
    Scratch,
    make_scratch,
    share_products,
)
from model.engine.cpu.kernels.packing import Linear, ends
from model.engine.cpu.kernels.work_queue import close_queue, make_work_queue, open_queue


class BusyEngines:
    """The engines of this process that have work: each needs a core of its own.

    count  [1], how many there are, for kernels to read
    """

    def __init__(self) -> None:
        self.count = np.zeros(1, np.int64)
        self._numbers: set[int] = set()
        self._lock = threading.Lock()

    def set(self, number: int, *, busy: bool) -> None:
        with self._lock:
            if busy:
                self._numbers.add(number)
            else:
                self._numbers.discard(number)
            self.count[0] = len(self._numbers)


BUSY_ENGINES = BusyEngines()
_numbers = itertools.count()


class HelperThread:
    """Takes part in the products of one engine among `n_threads`.

    It does so while at most half of them are busy, if the model is large enough to benefit. Its
    thread starts when first needed and ends with the engine, to which it keeps no reference.

    queue  for the engine's workspace
    """

    def __init__(self, engine: object, weights: Weights, n_threads: int) -> None:
        max_busy = n_threads // 2 if _benefits(weights) else 0
        self.queue = make_work_queue(BUSY_ENGINES.count, max_busy)
        self._like = _without_memory(weights)
        self._call = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._number = next(_numbers)
        weakref.finalize(engine, _end, self._number, self._call, self._ended)

    def set_busy(self, busy: bool) -> None:
        BUSY_ENGINES.set(self._number, busy=busy)

    def attach(self, scratch: Scratch) -> None:
        """Take part in the products that use `scratch`, if a core is free."""
        if self.queue.busy_engines[0] > self.queue.max_busy:
            return
        if self._thread is None:
            own = scratch._replace(partial=np.zeros_like(scratch.partial))
            arguments = (self._like, own, self._call, self._ended)
            name = f"helper-{self._number}"
            self._thread = threading.Thread(target=_serve, args=arguments, name=name, daemon=True)
            self._thread.start()
        open_queue(self.queue)
        self._call.set()

    def detach(self) -> None:
        """Stop taking part. Between two products."""
        close_queue(self.queue)


def compile_helper(weights: Weights) -> None:
    """Compile the thread's kernel for weights of this precision."""
    share_products(_without_memory(weights), make_scratch(1, 1))


def _benefits(weights: Weights) -> bool:
    largest = (weights.output, weights.decoder.w_1, weights.encoder.w_1)
    return any(one.bias.shape[1] * one.inputs >= MIN_SHARED_WEIGHTS for one in largest)


def _without_memory(weights: Weights) -> Linear:
    """Return a map of the same types: the thread must not keep the model in memory."""
    empty = np.zeros((1, 1), np.float32)
    weight = np.zeros_like(weights.output.weight[:1, :1])
    return Linear(weight, empty, empty, 1, ends(weight))


def _serve(like: Linear, scratch: Scratch, call: threading.Event, ended: threading.Event) -> None:
    while True:
        call.wait()
        if ended.is_set():
            return
        call.clear()
        share_products(like, scratch)


def _end(number: int, call: threading.Event, ended: threading.Event) -> None:
    BUSY_ENGINES.set(number, busy=False)
    ended.set()
    call.set()
