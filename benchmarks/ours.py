"""attend's engines as a `System`."""

from __future__ import annotations

import time
from collections.abc import Sequence

from benchmarks.system import Answer, Task
from benchmarks.wrapped_engine import WrappedEngine
from model.engine.protocol import Engine, Finished, Job
from model.engine.run import run_jobs


class Seats(WrappedEngine):
    """An engine limited to `n` sentences at a time."""

    def __init__(self, engine: Engine, n: int) -> None:
        super().__init__(engine)
        self._n = n
        self._inside: set[int] = set()

    def can_admit(self, job: Job) -> bool:
        """Whether a seat is free and the engine has room."""
        return not self._inside or (len(self._inside) < self._n and self._engine.can_admit(job))

    def admit(self, jobs: Sequence[Job]) -> None:
        """Admit jobs."""
        self._inside.update(job.id for job in jobs)
        self._engine.admit(jobs)

    def cancel(self, job_ids: Sequence[int]) -> None:
        """Drop jobs."""
        self._inside.difference_update(job_ids)
        self._engine.cancel(job_ids)

    def step(self) -> list[Finished]:
        """Advance the engine."""
        finished = self._engine.step()
        self._inside.difference_update(done.job_id for done in finished)
        return finished


class Attend:
    """Engines, driven by the runner of the command line."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self._engines = engines
        info = engines[0].info
        self.name = f"attend {info.precision}"
        self.threads = f"{len(engines)} × {info.threads}"

    def suits(self, task: Task) -> bool:  # noqa: ARG002
        """Always true: there is one configuration."""
        return True

    def answer(self, task: Task) -> Answer:
        """Run the batch divided among the engines; a batch of one uses a single engine."""
        n_engines = len(self._engines) if task.batch > 1 else 1
        engines = [Seats(engine, task.batch) for engine in self._engines[:n_engines]]
        jobs = [Job(index, ids, task.options) for index, ids in enumerate(task.sources)]
        if task.batch > 1:
            jobs.sort(key=lambda job: len(job.source_ids), reverse=True)
        began = time.perf_counter()
        found = dict(run_jobs(engines, jobs))
        seconds = time.perf_counter() - began
        best = []
        for index in range(len(jobs)):
            outcome = found[index]
            if isinstance(outcome, Exception):
                raise outcome
            best.append(outcome[0])
        return Answer(seconds, [one.ids for one in best], [not one.capped for one in best])
