import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.decoding.trace import Beam, Ended, SearchStep, SearchTrace
from model.engine.explanations import (
    Activation,
    AttentionKind,
    AttentionRow,
    IdPair,
    LayerRow,
    Projections,
)
from model.engine.protocol import EngineInfo, EngineMemory, Finished, Job, Progress

POISON = 13
"""A source id that fails its sentence."""

DISASTER = 666
"""A source id that fails everything in flight."""

COLLAPSE = 667
"""A source id that ends the engine's thread."""


@dataclass
class FakeEngine:
    """Answers with the reversed source, without control symbol and end, after `n_steps` steps.

    With `gate`, each step waits until the test releases it. `admitted` has the names of the jobs
    that joined before each step, if any. `steps_of` overrides the number of steps by name.
    """

    n_steps: int = 1
    n_slots: int = 1000
    gate: threading.Semaphore | None = None
    info: EngineInfo = field(default_factory=lambda: EngineInfo("fake", "cpu", "float32", 1))
    memory: EngineMemory = field(default_factory=lambda: EngineMemory(1000, 10))
    admitted: list[list[int]] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    n_interrupts: int = 0
    steps_of: dict[int, int] = field(default_factory=dict)
    in_step: threading.Event = field(default_factory=threading.Event)
    _left: dict[int, tuple[Job, int]] = field(default_factory=dict)
    _joining: list[int] = field(default_factory=list)

    @property
    def busy(self) -> bool:
        return bool(self._left)

    def can_admit(self, job: Job) -> bool:
        return len(self._left) < self.n_slots

    def admit(self, jobs: Sequence[Job]) -> None:
        self._joining += [job.source_ids[1] for job in jobs]
        for job in jobs:
            self._left[job.id] = (job, self._n_steps(job))

    def _n_steps(self, job: Job) -> int:
        return self.steps_of.get(job.source_ids[1], self.n_steps)

    def cancel(self, job_ids: Sequence[int]) -> None:
        for job_id in job_ids:
            if job_id in self._left:
                job, _ = self._left.pop(job_id)
                self.cancelled.append(job.source_ids[1])

    def progress(self) -> list[Progress]:
        """Return the next token of each streaming job, if it has one."""
        updates = []
        for job, left in self._left.values():
            ids = list(reversed(job.source_ids[1:-1]))
            n_certain = self._n_steps(job) - left
            if job.stream and 0 < n_certain <= len(ids):
                updates.append(Progress(job.id, ids[:n_certain]))
        return updates

    def release(self, n_steps: int = 1000) -> None:
        """Let this many steps pass the gate, if there is one."""
        if self.gate:
            self.gate.release(n_steps)

    def interrupt(self) -> None:
        self.n_interrupts += 1

    def step(self) -> list[Finished]:
        if self._joining:
            self.admitted.append(self._joining)
            self._joining = []
        if not self._left:
            return []
        self.in_step.set()
        if self.gate:
            assert self.gate.acquire(timeout=60)
        finished: list[Finished] = []
        for job, left in list(self._left.values()):
            if DISASTER in job.source_ids:
                self._left.clear()
                raise RuntimeError("disaster")
            if COLLAPSE in job.source_ids:
                raise SystemExit
            self._left[job.id] = (job, left - 1)
            if left == 1:
                del self._left[job.id]
                finished.append(Finished(job.id, outcome(job)))
        return finished

    def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> NDArray[np.float32]:
        if POISON in source_ids:
            raise RuntimeError("poison")
        n_columns = len(source_ids)
        return np.full((2, 4, len(target_ids), n_columns), 1 / n_columns, dtype=np.float32)

    def score(self, pairs: Sequence[IdPair], options: SearchOptions) -> list[NDArray[np.float32]]:
        if any(POISON in source_ids for source_ids, _ in pairs):
            raise RuntimeError("poison")
        return [np.full(len(target_ids), -0.1, dtype=np.float32) for _, target_ids in pairs]

    def project(
        self, source_ids: Sequence[int], target_ids: Sequence[int], at: AttentionRow
    ) -> Projections:
        if POISON in source_ids:
            raise RuntimeError("poison")
        weights = self.explain(source_ids, target_ids, at.kind)[at.layer, :, at.row]
        vectors = np.zeros((len(weights), weights.shape[1], 2), np.float32)
        seen = np.ones(weights.shape[1], np.bool_)
        return Projections(vectors[:, :1], vectors, vectors, weights, seen)

    def activations(
        self, source_ids: Sequence[int], target_ids: Sequence[int], at: LayerRow
    ) -> list[Activation]:
        if POISON in source_ids:
            raise RuntimeError("poison")
        return [Activation("embedding", "token", np.zeros(2, np.float32))]

    def trace(self, source_ids: Sequence[int], options: SearchOptions) -> SearchTrace:
        found = outcome(Job(0, tuple(source_ids), options))
        if isinstance(found, Exception):
            raise found
        return SearchTrace([SearchStep([Beam(None, None, 0.0, [])], [Ended(0, found[0])])], found)


def outcome(job: Job) -> list[Hypothesis] | Exception:
    if POISON in job.source_ids:
        return ValueError("poison")
    ids = tuple(reversed(job.source_ids[1:-1]))
    log_probs = (-0.1,) * (len(ids) + 1)
    return [Hypothesis(ids, log_probs, score=-0.1, capped=False)] * job.options.n_best


def gated(n_engines: int, n_steps: int = 1) -> list[FakeEngine]:
    return [FakeEngine(n_steps, gate=threading.Semaphore(0)) for _ in range(n_engines)]


def release(engines: Iterable[FakeEngine]) -> None:
    for engine in engines:
        engine.release()
