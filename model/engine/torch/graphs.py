"""Replays a repeated step as one CUDA graph.

A step of a small model is hundreds of brief kernels, and starting each takes longer than it runs. A
graph starts them all at once. It is bound to addresses, so a step is identified by a key for all of
its shapes and offsets, and graphs are discarded when tensors are replaced. Usual sizes are recorded
at the start (`Batch.prepare`), others when they occur a second time.
"""

import logging
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TypeAlias

import torch

from model.engine.torch.device import memory_errors

Step: TypeAlias = Callable[[], None]
Capture: TypeAlias = Callable[[Step], Step]
"""Records a step without running it, and returns a function that replays it."""

MAX_GRAPHS = 512
"""Each holds some of the driver's memory; beyond, all are discarded."""


_log = logging.getLogger(__name__)

_recording = Lock()
"""One thread records at a time: a recording shares the driver's and torch's global state."""


class Graphs:
    """Runs steps, from the second time on by replaying them if the device can capture them."""

    def __init__(self, capture: Capture | None) -> None:
        self._capture = capture
        self._known: set[Hashable] = set()
        self._recorded: dict[Hashable, Step] = {}

    @property
    def enabled(self) -> bool:
        """Whether steps are captured: the device can, and it has not failed."""
        return self._capture is not None

    def run(self, key: Hashable, step: Step) -> None:
        """Run the step that the key identifies.

        The first time is not captured, since libraries set up their workspaces in it. If a step
        cannot be captured, neither it nor any other is from then on.
        """
        if key in self._recorded:
            self._recorded[key]()
        elif self._capture is None or key not in self._known:
            self._known.add(key)
            step()
        else:
            self._record(key, step, self._capture)

    def forget(self) -> None:
        """Discard all graphs, since their tensors are replaced."""
        self._known.clear()
        self._recorded.clear()

    def _record(self, key: Hashable, step: Step, capture: Capture) -> None:
        if len(self._recorded) >= MAX_GRAPHS:
            self._recorded.clear()
        try:
            with memory_errors():
                replay = capture(step)
        except RuntimeError as error:  # such as an operation that this device cannot capture
            self._capture = None
            _log.warning("steps are not recorded as graphs: %s", error)
            step()
            return
        self._recorded[key] = replay
        replay()


def capture_for(device: torch.device) -> Capture | None:
    """Return how to capture graphs on a device; None where it has none."""
    if device.type != "cuda":
        return None

    first: list[torch.cuda.CUDAGraph] = []
    # torch's default stream for recording belongs to the device that recorded first.
    stream = torch.cuda.Stream(device)

    def capture(step: Step) -> Step:
        graph = torch.cuda.CUDAGraph()
        # All graphs share the memory of their intermediate results: they run one after the other,
        # and results that outlast a step are written into the state.
        pool = first[0].pool() if first else None
        # Another engine's thread may use its own device meanwhile.
        mode = "thread_local"
        with _recording, torch.cuda.graph(graph, pool, stream, capture_error_mode=mode):
            step()
        if not first:
            first.append(graph)
        replay: Step = graph.replay
        return replay

    return capture
