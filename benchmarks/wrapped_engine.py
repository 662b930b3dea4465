"""A wrapper that benchmarks subclass to modify an engine."""

from __future__ import annotations

from collections.abc import Sequence

from model.engine.explanations import DelegatedExplanations
from model.engine.protocol import Engine, EngineInfo, EngineMemory, Finished, Job, Progress


class WrappedEngine(DelegatedExplanations):
    """Delegates to the wrapped engine; see `Engine`. Subclasses override methods."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._engine = engine

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

    def room(self, job: Job) -> bool:
        """Delegate to the engine."""
        return self._engine.room(job)

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
