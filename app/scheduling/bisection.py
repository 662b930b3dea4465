"""Bisects a failed batch to find the segments that an engine cannot process.

A pure data structure: no clock, no lock, no torch.
"""

from collections import deque
from collections.abc import Callable, Sequence


class Bisection:
    """Groups of suspects, by job ids. Each group is tried alone in the engine.

    A group that fails is halved; one that succeeds is cleared. The one of n segments that crashes
    the engine is found in at most 2 log2 n more trials, and no other fails with it.
    """

    def __init__(self) -> None:
        self._groups: deque[Sequence[int]] = deque()
        self._on_trial: Sequence[int] = ()

    def suspect(self, ids: Sequence[int]) -> None:
        """Add a group of at least two jobs on which the engine failed."""
        half = len(ids) // 2
        self._groups.extendleft((ids[half:], ids[:half]))
        self._on_trial = ()

    def on_trial(self, present: Callable[[int], bool]) -> list[int]:
        """Return the unfinished jobs of the group on trial, if any."""
        return [job_id for job_id in self._on_trial if present(job_id)]

    def next_group(self, present: Callable[[int], bool]) -> list[int]:
        """Return the present jobs of the next group to try, if any."""
        while self._groups:
            group = [job_id for job_id in self._groups.popleft() if present(job_id)]
            if group:
                self._on_trial = group
                return group
        self._on_trial = ()
        return []

    def clear(self) -> None:
        self._groups.clear()
        self._on_trial = ()

    def __bool__(self) -> bool:
        return bool(self._groups or self._on_trial)
