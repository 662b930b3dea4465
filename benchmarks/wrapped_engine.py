"""A wrapper that benchmarks subclass to modify an engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from model.decoding.hypothesis import SearchOptions
from model.decoding.trace import SearchTrace
from model.engine.protocol import (
    AttentionKind,
    AttentionRow,
    Engine,
    EngineInfo,
    EngineMemory,
    Finished,
    IdPair,
    Job,
    Progress,
    Projections,
)


class WrappedEngine:
    """Delegates to the wrapped engine; see `Engine`. Subclasses override methods."""

    def __init__(self, engine: Engine) -> None:
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

    def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> NDArray[np.float32]:
        """The engine's."""
        return self._engine.explain(source_ids, target_ids, kind)

    def score(self, pairs: Sequence[IdPair], options: SearchOptions) -> list[NDArray[np.float32]]:
        """The engine's."""
        return self._engine.score(pairs, options)

    def project(
        self, source_ids: Sequence[int], target_ids: Sequence[int], at: AttentionRow
    ) -> Projections:
        """As the engine does."""
        return self._engine.project(source_ids, target_ids, at)

    def trace(self, source_ids: Sequence[int], options: SearchOptions) -> SearchTrace:
        """As the engine does."""
        return self._engine.trace(source_ids, options)
