"""The interface of compared systems, which search from source ids to target ids; and attend."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.engine.protocol import Engine, EngineMemory, Finished, Job
from model.engine.run import run_jobs

Ids = tuple[int, ...]

Found = Mapping[int, Hypothesis]
"""Job id → best hypothesis."""


@dataclass(frozen=True)
class Task:
    """A task for all systems.

    sources  ids, including the target-language symbol and the end of sentence
    options  `max_target_tokens` None is each system's own limit, beyond any good translation
    batch    concurrent sentences; 1: one after the other
    """

    sources: Sequence[Ids]
    options: SearchOptions
    batch: int


@dataclass(frozen=True)
class Answer:
    """A system's time and results.

    seconds  of the search only, from ids to ids
    targets  the best hypothesis for each source, without the end of sentence
    ended    whether each ended before the limit
    """

    seconds: float
    targets: Sequence[Ids]
    ended: Sequence[bool]

    @property
    def n_tokens(self) -> int:
        """Number of target tokens, including ends of sentences."""
        return sum(map(len, self.targets)) + sum(self.ended)


class System(Protocol):
    """A system to compare."""

    @property
    def name(self) -> str:
        """Implementation and precision; the fastest system of each name is reported."""

    @property
    def threads(self) -> str:
        """Distribution of threads, such as `1 × 2`: concurrent batches × threads of each."""

    def suits(self, task: Task) -> bool:
        """Whether it could be the fastest of its name for the task."""

    def answer(self, task: Task) -> Answer:
        """Run the task and time it."""


def best(finished: Iterable[Finished]) -> Found:
    """Return the best hypotheses. Raises the error of a failed job."""
    found = {}
    for job_id, outcome in finished:
        if isinstance(outcome, Exception):
            raise outcome
        found[job_id] = outcome[0]
    return found


class LimitedEngine:
    """An engine limited to `n` sentences at a time; see `Engine`."""

    def __init__(self, engine: Engine, n: int) -> None:
        self._engine = engine
        self._n = n
        self._jobs: set[int] = set()
        self.info = engine.info
        self.progress, self.interrupt = engine.progress, engine.interrupt
        self.explain, self.score = engine.explain, engine.score
        self.project, self.trace = engine.project, engine.trace
        self.activations = engine.activations

    @property
    def memory(self) -> EngineMemory:
        return self._engine.memory

    @property
    def busy(self) -> bool:
        return self._engine.busy

    def can_admit(self, job: Job) -> bool:
        return not self._jobs or (len(self._jobs) < self._n and self._engine.can_admit(job))

    def admit(self, jobs: Sequence[Job]) -> None:
        self._engine.admit(jobs)
        self._jobs |= {job.id for job in jobs}

    def cancel(self, job_ids: Sequence[int]) -> None:
        self._engine.cancel(job_ids)
        self._jobs.difference_update(job_ids)

    def step(self) -> list[Finished]:
        finished = self._engine.step()
        self._jobs.difference_update(done.job_id for done in finished)
        return finished


class Attend:
    """Engines, driven by the runner of the command line."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self._engines = engines
        info = engines[0].info
        self.name = f"attend {info.precision}"
        self.threads = f"{len(engines)} × {info.threads}"

    def suits(self, task: Task) -> bool:  # noqa: ARG002
        return True

    def answer(self, task: Task) -> Answer:
        n_engines = len(self._engines) if task.batch > 1 else 1
        engines = [LimitedEngine(engine, task.batch) for engine in self._engines[:n_engines]]
        jobs = [Job(index, ids, task.options) for index, ids in enumerate(task.sources)]
        if task.batch > 1:
            jobs.sort(key=lambda job: len(job.source_ids), reverse=True)
        began = time.perf_counter()
        found = best(run_jobs(engines, jobs))
        seconds = time.perf_counter() - began
        hypotheses = [found[index] for index in range(len(jobs))]
        ended = [not one.capped for one in hypotheses]
        return Answer(seconds, [one.ids for one in hypotheses], ended)
