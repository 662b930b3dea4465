"""An engine that fails on one sentence; see `benchmarks.reliability`."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.wrapped_engine import WrappedEngine
from model.engine.protocol import Engine, Finished, Job


class PoisonedEngine(WrappedEngine):
    """Raises in every step that includes the poisoned source, and loses all sentences in it."""

    def __init__(self, engine: Engine, poison: Sequence[int]) -> None:
        super().__init__(engine)
        self._poison = tuple(poison)
        self._inside: dict[int, Job] = {}

    def admit(self, jobs: Sequence[Job]) -> None:
        """Admit jobs."""
        self._engine.admit(jobs)
        self._inside |= {job.id: job for job in jobs}

    def cancel(self, job_ids: Sequence[int]) -> None:
        """Drop jobs."""
        self._engine.cancel(job_ids)
        for job_id in job_ids:
            self._inside.pop(job_id, None)

    def step(self) -> list[Finished]:
        """Raise, or advance the engine."""
        if any(job.source_ids == self._poison for job in self._inside.values()):
            self.cancel(list(self._inside))
            raise RuntimeError("poisoned")
        finished = self._engine.step()
        for done in finished:
            self._inside.pop(done.job_id, None)
        return finished
