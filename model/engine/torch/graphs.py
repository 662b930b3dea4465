"""Replays a step that runs on the same tensors again as one CUDA graph.

A step of a small model is hundreds of brief kernels, and starting each takes longer than it runs. A
graph starts them all at once. It is bound to addresses, so work is named by a key that stands for
all of its shapes and offsets, and what was recorded is forgotten when tensors are replaced. Usual
sizes are recorded at the start (`Batch.prepare`), others when they occur a second time. On other
devices the work is simply done.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeAlias

import torch

Work: TypeAlias = Callable[[], None]
Recorder: TypeAlias = Callable[[Work], Work]
"""Records work without doing it; what it returns does that work each time it is called."""

MAX_GRAPHS = 512
"""Recorded at a time: each holds some memory of the driver's; beyond, all are forgotten."""


class Graphs:
    """Does work, from its second time on by replaying it if there is a recorder."""

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self._known: set[Hashable] = set()
        self._recorded: dict[Hashable, Work] = {}

    @property
    def records(self) -> bool:
        """Whether there is a recorder, and it has not failed."""
        return self._recorder is not None

    def run(self, key: Hashable, work: Work) -> None:
        """Do the work that the key names.

        The first time is an ordinary one, since libraries set up their workspaces in it. Work that
        cannot be recorded is done as it is from then on, and so is all other work.
        """
        if key in self._recorded:
            self._recorded[key]()
        elif self._recorder is None or key not in self._known:
            self._known.add(key)
            work()
        else:
            self._record(key, work, self._recorder)

    def forget(self) -> None:
        """Forget what was recorded, since its tensors are replaced."""
        self._known.clear()
        self._recorded.clear()

    def _record(self, key: Hashable, work: Work, recorder: Recorder) -> None:
        if len(self._recorded) >= MAX_GRAPHS:
            self._recorded.clear()
        try:
            replay = recorder(work)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:  # such as an operation that this device cannot record
            self._recorder = None
            work()
            return
        self._recorded[key] = replay
        replay()


def recorder_for(device: torch.device) -> Recorder | None:
    """Return the recorder of a device; None where it has no graphs."""
    if device.type != "cuda":
        return None

    first: list[torch.cuda.CUDAGraph] = []

    def record(work: Work) -> Work:
        graph = torch.cuda.CUDAGraph()
        # All graphs share the memory of their intermediate results: they run one after the other
        # and leave nothing in it, since what outlasts a step is written into the state.
        pool = first[0].pool() if first else None
        # Another engine's thread may be at work on its own device meanwhile.
        with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            work()
        if not first:
            first.append(graph)
        replay: Work = graph.replay
        return replay

    return record
