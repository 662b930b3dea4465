"""An engine that computes nothing, for measuring and testing what surrounds an engine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from model.decoding.hypothesis import Hypothesis
from model.engine.protocol import EngineInfo, EngineMemory, Finished, Job, Progress


class CountingEngine:
    """Finishes each job after one step per source token, of `seconds` each; see `Engine`."""

    info = EngineInfo("none", "none", "none", 1)
    memory = EngineMemory(0, 0)

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._left: dict[int, tuple[Job, int]] = {}

    @property
    def busy(self) -> bool:
        """Whether jobs are in flight."""
        return bool(self._left)

    def can_admit(self, job: Job) -> bool:  # noqa: ARG002
        """Always true."""
        return True

    def admit(self, jobs: Sequence[Job]) -> None:
        """Admit jobs."""
        self._left |= {job.id: (job, len(job.source_ids)) for job in jobs}

    def cancel(self, job_ids: Sequence[int]) -> None:
        """Drop jobs."""
        for job_id in job_ids:
            self._left.pop(job_id, None)

    def progress(self) -> list[Progress]:
        """Nothing streams."""
        return []

    def interrupt(self) -> None:
        """Do nothing: steps are short."""

    def step(self) -> list[Finished]:
        """Advance every job by one step."""
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
