"""In-flight batching on a CPU core: sentences join and leave between any two decoding steps."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from model.decoding.constraints import PieceEdges
from model.decoding.hypothesis import Hypothesis, SearchOptions, best_first, finished_hypothesis
from model.decoding.trace import SearchTrace
from model.engine.admissible import check_job, check_pair
from model.engine.cpu import search
from model.engine.cpu.agreement import agreed_in_slot
from model.engine.cpu.array_bytes import array_bytes, own_bytes
from model.engine.cpu.capacity import (
    MAX_ROWS,
    MAX_SENTENCES,
    Capacity,
    cache_bytes,
    constraints,
    page_bytes,
    step_rows,
    token_limit,
    width,
)
from model.engine.cpu.forward import decoder, explanation, projections
from model.engine.cpu.forward.rules import rule_record
from model.engine.cpu.forward.slots import MAX_BEAM, make_pages, make_slots, occupy, vacate
from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.forward.workspace import make_workspace
from model.engine.cpu.partner import Partner
from model.engine.cpu.terms import constrain, make_terms
from model.engine.cpu.trace import Recorder
from model.engine.explanations import AttentionKind, AttentionRow, IdPair, Projections
from model.engine.protocol import EngineInfo, EngineMemory, Finished, Job, Progress
from model.errors import NumericalError
from model.transformer.config import TransformerConfig

STEP_TOKENS = 8
"""After which it does not go on for that: what little is in flight should not have to wait."""


class CpuEngine:
    """One core's engine; see `Engine`. Several may share the weights.

    edges      of the target vocabulary, for constraints: where their words may end
    recorder   writes down the search of the one job that this engine then may have
    n_threads  of all engines together: while the others have no work, this one has a partner
    """

    def __init__(
        self,
        config: TransformerConfig,
        weights: Weights,
        edges: PieceEdges | None = None,
        recorder: Recorder | None = None,
        n_threads: int = 1,
    ) -> None:
        longest = config.max_length
        self._config = config
        self._weights = weights
        self._recorder = recorder
        n_rows = max(MAX_ROWS, longest)
        self._partner = Partner(self, weights, n_threads)
        self._work = make_workspace(weights, n_rows, self._partner.board)
        self._slots = make_slots(MAX_SENTENCES, longest)
        self._capacity = Capacity(longest, page_bytes(config))
        self._pages = make_pages(weights, self._capacity.n_pages)
        self._candidates = search.make_candidates(n_rows, MAX_SENTENCES, longest)
        self._edges = edges or PieceEdges.none(config.target_vocab_size)
        self._terms = make_terms(MAX_SENTENCES, longest, self._edges)
        self._step_rows = step_rows(config)
        self._free_slots = list(range(MAX_SENTENCES))
        self._in_slot: dict[int, Job] = {}
        self._slot_of: dict[int, int] = {}
        self._waiting: deque[Job] = deque()
        self._n_told: dict[int, int] = {}  # of the slots whose jobs stream
        self._n_constrained = 0
        self._interrupted = np.zeros(1, np.int64)
        self._weights_bytes = own_bytes(weights)
        self._fixed_bytes = array_bytes((self._work, self._candidates))
        self._slot_bytes = array_bytes((self._slots, self._terms)) // MAX_SENTENCES
        self._most_slots = self._most_pages = 0  # used at once; the rest was never touched

    @property
    def info(self) -> EngineInfo:
        """Which engine it is, device, precision and threads."""
        int8 = self._weights.output.weight.dtype == np.uint8
        return EngineInfo("cpu", "cpu", "int8" if int8 else "float32", 1)

    @property
    def memory(self) -> EngineMemory:
        """The weights, the workspace, and the slots and pages that were ever in use.

        Embeddings that are mapped from a file do not count: the system may take their pages back.
        """
        slots = self._most_slots * self._slot_bytes
        pages = cache_bytes(self._config, self._most_pages)
        return EngineMemory(self._weights_bytes, self._fixed_bytes + slots + pages)

    @property
    def busy(self) -> bool:
        """True while jobs are admitted and neither finished nor cancelled."""
        return bool(self._in_slot or self._waiting)

    def room(self, job: Job) -> bool:
        """Whether the job fits beside those that are here."""
        return not self.busy or self._capacity.fits([job])

    def admit(self, jobs: Sequence[Job]) -> None:
        """Take jobs in; they join at the next step. Raises `ValueError` if they cannot."""
        for job in jobs:
            check_job(job, self._config)
            if job.options.beam_size > MAX_BEAM:
                raise ValueError(f"beam_size {job.options.beam_size}: at most {MAX_BEAM}")
        # Kernels write where they are told: no row or page is beyond.
        if not self._capacity.fits(jobs):
            raise ValueError("there is no room for these jobs")
        for job in jobs:
            self._capacity.keep(job)
            self._waiting.append(job)
        if jobs:
            self._partner.enter()

    def cancel(self, job_ids: Sequence[int]) -> None:
        """Drop jobs, waiting or in flight."""
        dropped = set(job_ids)
        for job in [job for job in self._waiting if job.id in dropped]:
            self._waiting.remove(job)
            self._capacity.release(job)
        for job_id in dropped & self._slot_of.keys():
            self._leave(self._slot_of[job_id])
        self._rest()

    def interrupt(self) -> None:
        """Have the step in progress, or else the next, end as one ends where a sentence does."""
        self._interrupted[0] = 1

    def progress(self) -> list[Progress]:
        """What all hypotheses that may become the best begin with; see `Engine.progress`."""
        news = []
        for slot, n_told in self._n_told.items():
            ids = agreed_in_slot(self._slots, slot, self._pages, self._config.eos_id)
            if len(ids) > n_told:
                self._n_told[slot] = len(ids)
                news.append(Progress(self._in_slot[slot].id, ids))
        return news

    def step(self) -> list[Finished]:
        """Let those that wait join, then advance every sentence until one ends, and some more."""
        try:
            newcomers = self._newcomers()
            if not self._in_slot:
                return []
            if self._n_told:
                self.interrupt()
            self._partner.begin(self._work.scratch)
            n_done = search.run(
                self._weights, newcomers, self._slots, self._pages, self._work, self._candidates,
                self._terms if self._n_constrained else None, len(self._in_slot),
                self._interrupted, 1 if self._n_told else STEP_TOKENS, self._step_rows,
            )  # fmt: skip
            self._most_slots = max(self._most_slots, len(self._in_slot))
            n_used = self._capacity.n_pages - int(self._pages.n_free[0])
            self._most_pages = max(self._most_pages, n_used)
            if self._recorder:
                [slot] = self._in_slot
                self._recorder.step(slot, self._slots, self._work)
            return [self._finished(int(slot)) for slot in self._candidates.done[:n_done]]
        except BaseException:
            self._reset()
            raise
        finally:
            self._partner.end()
            self._rest()
            # Who interrupts from now on is heard by the next step.
            self._interrupted[0] = 0

    def _rest(self) -> None:
        if not self.busy:
            self._partner.leave()

    def _newcomers(self) -> decoder.Newcomers:
        """What waits, given slots."""
        jobs = list(self._waiting)
        self._waiting.clear()
        slots = [self._enter(job) for job in jobs]
        lengths = [len(job.source_ids) for job in jobs]
        ids = itertools.chain.from_iterable(job.source_ids for job in jobs)
        return decoder.Newcomers(
            ids=np.fromiter(ids, np.int64, sum(lengths)),
            bounds=np.cumsum([0, *lengths]),
            slots=np.array(slots, np.int64),
        )

    def _enter(self, job: Job) -> int:
        slot = self._free_slots.pop()
        self._in_slot[slot] = job
        self._slot_of[job.id] = slot
        if job.stream:
            self._n_told[slot] = 0
        options, longest = job.options, self._config.max_length
        occupy(
            self._slots, slot, self._pages, len(job.source_ids), options.beam_size, options.n_best,
            token_limit(job, longest), self._config.start_id,
        )  # fmt: skip
        self._slots.rule[slot] = rule_record(options)
        if terms := constraints(job, longest):
            self._n_constrained += 1
            constrain(self._terms, slot, terms, width(job, longest))
        return slot

    def _leave(self, slot: int) -> Job:
        job = self._in_slot.pop(slot)
        del self._slot_of[job.id]
        self._n_told.pop(slot, None)
        self._capacity.release(job)
        if self._terms.sentence[slot]["n_terms"]:
            self._n_constrained -= 1
            constrain(self._terms, slot, (), 0)
        vacate(self._slots, slot, self._pages)
        self._free_slots.append(slot)
        return job

    def _reset(self) -> None:
        for slot in list(self._in_slot):
            self._leave(slot)
        self._waiting.clear()
        # Those on their way from waiting to a slot are in neither.
        self._capacity.clear()

    def _finished(self, slot: int) -> Finished:
        failed = bool(self._slots.failed[slot])
        found = [] if failed else self._hypotheses(slot, self._in_slot[slot])
        job = self._leave(slot)
        if failed:
            error = NumericalError("the model's output is not finite for this input")
            return Finished(job.id, error)
        return Finished(job.id, found)

    def _hypotheses(self, slot: int, job: Job) -> list[Hypothesis]:
        slots, options, eos_id = self._slots, job.options, self._config.eos_id
        limit = token_limit(job, self._config.max_length)
        found = []
        for place in range(options.n_best):
            if slots.score[slot, place] == -np.inf:
                break
            n = slots.n_tokens[slot, place]
            ids = slots.tokens[slot, place, :n].tolist()
            log_probs = slots.log_probs[slot, place, :n].tolist()
            found.append(finished_hypothesis(ids, log_probs, eos_id, options, limit))
        return best_first(found, options)

    def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> NDArray[np.float32]:
        """Attention weights [layers, heads, T, S]; see `Engine.explain`. Raises as `admit`."""
        check_pair(source_ids, target_ids, self._config)
        return explanation.explain(self._weights, self._work, source_ids, target_ids, kind)

    def score(self, pairs: Sequence[IdPair], options: SearchOptions) -> list[NDArray[np.float32]]:
        """Log-probabilities [T] of each pair; see `Engine.score`. Raises as `admit`."""
        for pair in pairs:
            check_pair(*pair, self._config)
        n_rows = len(self._work.x)
        return [
            log_probs
            for start in range(0, len(pairs), n_rows)
            for log_probs in explanation.score(
                self._weights, self._work, pairs[start : start + n_rows],
                renormalises=options.traits.renormalises, first_id=options.first_id,
            )
        ]  # fmt: skip

    def project(
        self, source_ids: Sequence[int], target_ids: Sequence[int], at: AttentionRow
    ) -> Projections:
        """What one attention computes with; see `Engine.project`. Raises as `admit`."""
        check_pair(source_ids, target_ids, self._config)
        return projections.project(self._weights, self._work, (source_ids, target_ids), at)

    def trace(self, source_ids: Sequence[int], options: SearchOptions) -> SearchTrace:
        """The search of one sentence; see `Engine.trace`. Raises as `admit`, and `NumericalError`.

        It is searched by an engine of its own, beside those that are in this one.
        """
        recorder = Recorder(self._config, self._weights, options)
        apart = CpuEngine(self._config, self._weights, self._edges, recorder)
        apart.admit([Job(0, tuple(source_ids), options, stream=True)])  # a token a step
        finished: list[Finished] = []
        while not finished:
            finished = apart.step()
        [(_, outcome)] = finished
        if isinstance(outcome, Exception):
            raise outcome
        return SearchTrace(recorder.steps, outcome)
