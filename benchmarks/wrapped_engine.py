"""A wrapper that benchmarks subclass to modify an engine."""

from __future__ import annotations

from collections.abc import Sequence

from model.engine.protocol import Engine, EngineInfo, EngineMemory, Finished, Job, Progress


class WrappedEngine:
    """Delegates to the wrapped engine; see `Engine`. Subclasses override methods."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.explain, self.score = engine.explain, engine.score
        self.project, self.trace = engine.project, engine.trace

    @property
    def info(self) -> EngineInfo:
        """The engine's."""
        return self._engine.info

    @property
    def memory(self) -> EngineMemory:
        """The engine's."""
        return self._engine.memory

    @property
    def busy(self) -> bool:
        """Delegate to the engine."""
        return self._engine.busy

    def can_admit(self, job: Job) -> bool:
        """Delegate to the engine."""
        return self._engine.can_admit(job)

    def admit(self, jobs: Sequence[Job]) -> None:
        """Admit jobs."""
        self._engine.admit(jobs)

    def cancel(self, job_ids: Sequence[int]) -> None:
        """Drop jobs."""
        self._engine.cancel(job_ids)

    def step(self) -> list[Finished]:
        """Advance the engine."""
        return self._engine.step()

    def progress(self) -> list[Progress]:
        """The engine's."""
        return self._engine.progress()

    def interrupt(self) -> None:
        """Interrupt the engine's step."""
        self._engine.interrupt()
