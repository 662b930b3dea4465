"""Engines for benchmarks: wrappers that modify an engine, and one that computes nothing."""

import time
from collections.abc import Sequence
from typing import Any

from model.decoding.hypothesis import Hypothesis
from model.engine.protocol import Engine, EngineInfo, EngineMemory, Finished, Job, Progress


class WrappedEngine:
    """Delegates to an engine and knows its jobs; see `Engine`. Subclasses override methods."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._jobs: dict[int, Job] = {}
        self.info = engine.info
        self.progress, self.interrupt = engine.progress, engine.interrupt
        self.explain, self.score = engine.explain, engine.score
        self.project, self.trace = engine.project, engine.trace

    @property
    def memory(self) -> EngineMemory:
        return self._engine.memory

    @property
    def busy(self) -> bool:
        return self._engine.busy

    def can_admit(self, job: Job) -> bool:
        return self._engine.can_admit(job)

    def admit(self, jobs: Sequence[Job]) -> None:
        self._engine.admit(jobs)
        self._jobs |= {job.id: job for job in jobs}

    def cancel(self, job_ids: Sequence[int]) -> None:
        self._engine.cancel(job_ids)
        for job_id in job_ids:
            self._jobs.pop(job_id, None)

    def step(self) -> list[Finished]:
        finished = self._engine.step()
        for done in finished:
            self._jobs.pop(done.job_id, None)
        return finished


class Seats(WrappedEngine):
    """An engine limited to `n` sentences at a time."""

    def __init__(self, engine: Engine, n: int) -> None:
        super().__init__(engine)
        self._n = n

    def can_admit(self, job: Job) -> bool:
        return not self._jobs or (len(self._jobs) < self._n and super().can_admit(job))


class PoisonedEngine(WrappedEngine):
    """Raises in every step that includes the poisoned source, and loses all sentences in it."""

    def __init__(self, engine: Engine, poison: Sequence[int]) -> None:
        super().__init__(engine)
        self._poison = tuple(poison)

    def step(self) -> list[Finished]:
        if any(job.source_ids == self._poison for job in self._jobs.values()):
            self.cancel(list(self._jobs))
            raise RuntimeError("poisoned")
        return super().step()


class CountingEngine:
    """Computes nothing: finishes a job after one step of `seconds` per source token."""

    info = EngineInfo("none", "none", "none", 1)
    memory = EngineMemory(0, 0)

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._left: dict[int, tuple[Job, int]] = {}

    @property
    def busy(self) -> bool:
        return bool(self._left)

    def can_admit(self, job: Job) -> bool:  # noqa: ARG002
        return True

    def admit(self, jobs: Sequence[Job]) -> None:
        self._left |= {job.id: (job, len(job.source_ids)) for job in jobs}

    def cancel(self, job_ids: Sequence[int]) -> None:
        for job_id in job_ids:
            self._left.pop(job_id, None)

    def progress(self) -> list[Progress]:
        return []

    def interrupt(self) -> None:
        """Do nothing: steps are short."""

    def step(self) -> list[Finished]:
        if self._seconds and self.busy:
            time.sleep(self._seconds)
        self._left = {job_id: (job, n - 1) for job_id, (job, n) in self._left.items()}
        done = [job for job, n in self._left.values() if not n]
        self.cancel([job.id for job in done])
        return [Finished(job.id, self.outcome(job)) for job in done]

    def outcome(self, job: Job) -> list[Hypothesis] | Exception:  # noqa: ARG002
        """Return the result of every job: the same sentence of 20 tokens."""
        return [Hypothesis(tuple(range(10, 30)), (-0.1,) * 21, -0.1, capped=False)]

    def _not_implemented(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    explain = score = project = trace = _not_implemented
