"""In-flight batching on a CPU core: sentences join and leave between any two decoding steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from model.decoding.constraints import PieceEdges
from model.decoding.hypothesis import outcome_of_rows
from model.engine.cpu import search
from model.engine.cpu.capacity import MAX_SENTENCES, STEP_WORK, Capacity, cache_bytes, row_work
from model.engine.cpu.explanations import CpuExplanations
from model.engine.cpu.forward.decoder import NewSentences
from model.engine.cpu.forward.shortlisted import OutputColumns
from model.engine.cpu.forward.slots import make_pages, make_slots, vacate
from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.helper_thread import HelperThread
from model.engine.cpu.hypotheses import finished_rows, stable_prefix
from model.engine.cpu.kernels.arrays import array_bytes
from model.engine.cpu.terms import make_terms
from model.engine.jobs import grown
from model.engine.protocol import EngineInfo, EngineMemory, Finished, Job, Progress
from model.transformer.config import TransformerConfig

STEP_TOKENS = 8
"""Most tokens decoded after a sentence ends or an interrupt arrives: with few sentences in flight,
`STEP_WORK` would delay others too long."""


class CpuEngine(CpuExplanations):
    """One core's engine; see `Engine`. Several may share the weights.

    edges      of the target vocabulary, for constraints: where their words may end
    n_threads  of all engines together: while the others are idle, a helper thread uses their core
    """

    def __init__(
        self,
        config: TransformerConfig,
        weights: Weights,
        edges: PieceEdges | None = None,
        n_threads: int = 1,
    ) -> None:
        self._helper = HelperThread(self, weights, n_threads)
        super().__init__(config, weights, edges, self._helper.queue)
        longest = config.max_length
        self._slots = make_slots(MAX_SENTENCES, longest)
        self._capacity = Capacity(config)
        self._pages = make_pages(weights, self._capacity.n_pages)
        self._terms = make_terms(MAX_SENTENCES, longest, self._edges)
        self._step_rows = STEP_WORK // row_work(config)
        self._free_slots = list(range(MAX_SENTENCES))
        self._in_slot: dict[int, Job] = {}
        self._waiting: deque[Job] = deque()
        self._columns: dict[int, OutputColumns] = {}  # of the slots with a shortlist
        self._columns_bytes = 0
        self._reported: dict[int, int] = {}  # lengths of the prefixes of jobs that stream
        self._interrupted = np.zeros(1, np.int64)
        self._weights_bytes = array_bytes(weights, mapped=False)
        fixed = (self._work, self._candidates)
        self._fixed_bytes = array_bytes(fixed) - self._candidates.next.edits.nbytes  # rarely used
        self._slot_bytes = array_bytes((self._slots, self._terms)) // MAX_SENTENCES
        self._max_slots = self._max_pages = 0  # ever used at once; others take no memory

    @property
    def info(self) -> EngineInfo:
        int8 = self._weights.output.weight.dtype == np.uint8
        return EngineInfo("cpu", "cpu", "int8" if int8 else "float32", 1)

    @property
    def memory(self) -> EngineMemory:
        """The weights, the workspace, and the slots and pages that were ever in use.

        Embeddings that are mapped from a file do not count: the system may reclaim their pages.
        """
        slots = self._max_slots * self._slot_bytes
        pages = cache_bytes(self._config, self._max_pages)
        return EngineMemory(
            self._weights_bytes, self._fixed_bytes + slots + pages + self._columns_bytes
        )

    @property
    def busy(self) -> bool:
        return bool(self._in_slot or self._waiting)

    def can_admit(self, job: Job) -> bool:
        return not self.busy or self._capacity.fits([job])

    def admit(self, jobs: Sequence[Job]) -> None:
        """Admit jobs; they join at the next step. Raises `ValueError` for any invalid job."""
        for job in jobs:
            self.check(job)
        # Kernels do not check bounds: rows and pages must suffice.
        if not self._capacity.fits(jobs):
            raise ValueError("the jobs exceed the engine's capacity")
        for job in jobs:
            self._capacity.reserve(job)
            self._waiting.append(job)
        self._helper.set_busy(self.busy)

    def cancel(self, job_ids: Sequence[int]) -> None:
        dropped = set(job_ids)
        for job in [job for job in self._waiting if job.id in dropped]:
            self._waiting.remove(job)
            self._capacity.release(job)
        for slot in [slot for slot, job in self._in_slot.items() if job.id in dropped]:
            self._leave(slot)
        self._helper.set_busy(self.busy)

    def interrupt(self) -> None:
        """Make the present step, or else the next, end as if a sentence had ended."""
        self._interrupted[0] = 1

    def progress(self) -> list[Progress]:
        slots, pages, eos_id = self._slots, self._pages, self._config.eos_id
        prefixes = (
            (job.id, stable_prefix(slots, slot, pages, eos_id))
            for slot, job in self._in_slot.items()
            if job.stream
        )
        return grown(prefixes, self._reported)

    def step(self) -> list[Finished]:
        """Let waiting jobs join, then advance every sentence until one ends, and a little more."""
        try:
            new = self._join()
            if not self._in_slot:
                return []
            streams = any(job.stream for job in self._in_slot.values())
            if streams:
                self.interrupt()
            self._helper.attach(self._work.scratch)
            n_done = search.run(
                self._weights, new, self._slots, self._pages, self._work, self._candidates,
                self._terms, len(self._in_slot), self._interrupted,
                1 if streams else STEP_TOKENS, self._step_rows,
            )  # fmt: skip
            self._max_slots = max(self._max_slots, len(self._in_slot))
            n_used = self._capacity.n_pages - int(self._pages.n_free[0])
            self._max_pages = max(self._max_pages, n_used)
            return [self._finished(int(slot)) for slot in self._candidates.done[:n_done]]
        except BaseException:
            for slot in list(self._in_slot):
                self._leave(slot)
            self._waiting.clear()
            # Jobs between waiting and their slots are in neither.
            self._capacity.clear()
            raise
        finally:
            self._helper.detach()
            self._helper.set_busy(self.busy)
            self._interrupted[0] = 0  # later interrupts apply to the next step

    def _join(self) -> NewSentences:
        jobs = list(self._waiting)
        self._waiting.clear()
        slots = [self._enter(job) for job in jobs]
        return NewSentences.of([job.source_ids for job in jobs], slots)

    def _enter(self, job: Job) -> int:
        slot = self._free_slots.pop()
        self._in_slot[slot] = job
        limits = job.options.limits(len(job.source_ids), self._config.max_length)
        columns = search.start_sentence(
            self._weights, self._slots, slot, self._pages, self._terms, job.source_ids,
            job.options, limits,
        )  # fmt: skip
        if columns:
            self._columns[slot] = columns
            self._columns_bytes += columns.n_bytes
        return slot

    def _leave(self, slot: int) -> Job:
        job = self._in_slot.pop(slot)
        self._reported.pop(job.id, None)
        self._capacity.release(job)
        self._terms.sentence["n_terms"][slot] = 0
        vacate(self._slots, slot, self._pages)
        if columns := self._columns.pop(slot, None):
            self._columns_bytes -= columns.n_bytes
        self._free_slots.append(slot)
        return job

    def _finished(self, slot: int) -> Finished:
        options, limit = self._in_slot[slot].options, int(self._slots.limit[slot])
        rows = finished_rows(self._slots, slot)
        outcome = outcome_of_rows(rows, self._config.eos_id, options, limit)
        return Finished(self._leave(slot).id, outcome)
