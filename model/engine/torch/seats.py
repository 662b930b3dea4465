"""Who sits in which slot of a batch."""

from __future__ import annotations

from collections.abc import Sequence

from model.engine.protocol import Job
from model.engine.torch.buckets import bucket


class Seats:
    """Jobs by slot, at most `n`, in the order in which they came.

    n_told    of each slot whose job streams, the tokens that it was told
    vacated   slots whose hypotheses are still on the device
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self.jobs: dict[int, Job] = {}
        self.n_told: dict[int, int] = {}
        self.vacated: set[int] = set()

    @property
    def free(self) -> list[int]:
        """The slots without a job."""
        return [slot for slot in range(self._n) if slot not in self.jobs]

    @property
    def n_used(self) -> int:
        """Slots that a step takes: a bucket that holds the last that is in use."""
        return bucket(max(self.jobs) + 1, self._n)

    def enter(self, slot: int, job: Job) -> None:
        """Give a free slot to a job."""
        self.vacated.discard(slot)
        self.jobs[slot] = job
        if job.stream:
            self.n_told[slot] = 0

    def leave(self, slot: int) -> Job:
        """Free the slot of a job, which is returned."""
        self.vacated.add(slot)
        self.n_told.pop(slot, None)
        return self.jobs.pop(slot)

    def compact(self) -> tuple[Sequence[int], Sequence[int]]:
        """Move jobs to lower slots if a smaller bucket then holds all; return from and to which."""
        n_enough = bucket(len(self.jobs), self._n)
        if n_enough == self.n_used:
            return (), ()
        source = [slot for slot in self.jobs if slot >= n_enough]
        free = (slot for slot in range(n_enough) if slot not in self.jobs)
        target = [slot for slot, _ in zip(free, source, strict=False)]
        self.vacated = self.vacated.difference(target) | set(source)
        new_slot = dict(zip(source, target, strict=True))
        self.jobs = {new_slot.get(slot, slot): job for slot, job in self.jobs.items()}
        self.n_told = {new_slot.get(slot, slot): n for slot, n in self.n_told.items()}
        return source, target
