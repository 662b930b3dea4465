"""In-flight batching on a CPU core: sentences join and leave between any two decoding steps."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from model.config import TransformerConfig
from model.decoding.constraints import Constraint, PieceEdges, fitting, search_width
from model.decoding.hypothesis import Hypothesis, SearchOptions, best_first, finished_hypothesis
from model.engine.cpu import decoder, explanation, search
from model.engine.cpu.agreement import agreed_ids
from model.engine.cpu.slots import (
    MAX_BEAM,
    PAGE,
    make_pages,
    make_slots,
    occupy,
    pages_needed,
    vacate,
)
from model.engine.cpu.terms import constrain, make_terms
from model.engine.cpu.weights import Weights
from model.engine.cpu.workspace import make_workspace
from model.engine.protocol import AttentionKind, EngineInfo, Finished, Job, Progress
from model.errors import NumericalError

MAX_SENTENCES = 64
"""In flight at once: beyond this products get no faster, and every sentence waits longer."""

MAX_ROWS = 256
"""Hypotheses in flight, and source tokens encoded at once unless one sentence has more."""

STEP_WORK = 1_000_000_000
"""Multiply-adds that a step goes on for even when a sentence is over or it is interrupted: about
four milliseconds. To leave compiled code is to ask for the interpreter's lock, which takes about
one where the event loop is busy; and newcomers are cheaper to encode together."""

STEP_TOKENS = 8
"""After which it does not go on for that: what little is in flight should not have to wait."""

CACHE_BYTES = 2**30
"""Of address space for keys and values; what is not used takes no memory."""


class CpuEngine:
    """One core's engine; see `Engine`. Several may share the weights.

    edges  of the target vocabulary, for constraints: where their words may end
    """

    def __init__(
        self, config: TransformerConfig, weights: Weights, edges: PieceEdges | None = None
    ) -> None:
        longest = config.max_length
        self._config = config
        self._weights = weights
        n_rows = max(MAX_ROWS, longest)
        self._work = make_workspace(weights, n_rows)
        self._slots = make_slots(MAX_SENTENCES, longest)
        page_bytes = 2 * PAGE * 4 * weights.decoder.n_layers * weights.shape.d_model
        n_pages = max(CACHE_BYTES // page_bytes, pages_needed(longest, MAX_BEAM, longest))
        n_pages = min(n_pages, MAX_SENTENCES * pages_needed(longest, 4, longest))
        self._pages = make_pages(weights, n_pages)
        self._candidates = search.make_candidates(n_rows, MAX_SENTENCES, longest)
        edges = edges or PieceEdges.none(config.target_vocab_size)
        self._terms = make_terms(MAX_SENTENCES, longest, edges)
        self._n_pages = n_pages
        self._step_rows = STEP_WORK // _row_work(config)
        self._free_slots = list(range(MAX_SENTENCES))
        self._in_slot: dict[int, Job] = {}
        self._slot_of: dict[int, int] = {}
        self._waiting: deque[Job] = deque()
        self._reserved_pages = 0
        self._reserved_rows = 0
        self._n_told: dict[int, int] = {}  # of the slots whose jobs stream
        self._n_constrained = 0
        self._interrupted = np.zeros(1, np.int64)

    @property
    def info(self) -> EngineInfo:
        """Device, precision and threads."""
        int8 = self._weights.output.weight.dtype == np.uint8
        return EngineInfo("cpu", "int8" if int8 else "float32", 1)

    @property
    def busy(self) -> bool:
        """True while jobs are admitted and neither finished nor cancelled."""
        return bool(self._in_slot or self._waiting)

    def room(self, job: Job) -> bool:
        """Whether the job fits beside those that are here."""
        return not self.busy or self._fit([job])

    def _fit(self, jobs: Sequence[Job]) -> bool:
        n_rows = sum(self._width(job) for job in jobs)
        n_pages = sum(self._pages_for(job) for job in jobs)
        return (
            len(self._in_slot) + len(self._waiting) + len(jobs) <= MAX_SENTENCES
            and self._reserved_rows + n_rows <= MAX_ROWS
            and self._reserved_pages + n_pages <= self._n_pages
        )

    def admit(self, jobs: Sequence[Job]) -> None:
        """Take jobs in; they join at the next step. Raises `ValueError` if they cannot."""
        for job in jobs:
            self._check_ids("source", job.source_ids, self._config.source_vocab_size)
            if job.options.beam_size > MAX_BEAM:
                raise ValueError(f"beam_size {job.options.beam_size}: at most {MAX_BEAM}")
            _check_rule(job.options)
            for constraint in job.options.constraints:
                for wording in constraint.wordings:
                    _check_vocabulary("target", wording.ids, self._config.target_vocab_size)
        if not self._fit(jobs):  # kernels write where they are told: no row or page is beyond
            raise ValueError("there is no room for these jobs")
        for job in jobs:
            self._reserved_pages += self._pages_for(job)
            self._reserved_rows += self._width(job)
            self._waiting.append(job)

    def cancel(self, job_ids: Sequence[int]) -> None:
        """Drop jobs, waiting or in flight."""
        dropped = set(job_ids)
        for job in [job for job in self._waiting if job.id in dropped]:
            self._waiting.remove(job)
            self._release(job)
        for job_id in dropped & self._slot_of.keys():
            self._leave(self._slot_of[job_id])

    def interrupt(self) -> None:
        """Have the step in progress, or else the next, end as one ends where a sentence does."""
        self._interrupted[0] = 1

    def progress(self) -> list[Progress]:
        """What all hypotheses that may become the best begin with; see `Engine.progress`."""
        news = []
        for slot, n_told in self._n_told.items():
            ids = agreed_ids(self._slots, slot, self._pages)
            if len(ids) > n_told:
                self._n_told[slot] = len(ids)
                news.append(Progress(self._in_slot[slot].id, ids))
        return news

    def step(self) -> list[Finished]:
        """Let those that wait join, then advance every sentence until one ends, and some more."""
        try:
            self._join()
            if not self._in_slot:
                return []
            if self._n_told:
                self.interrupt()
            n_done = search.run(
                self._weights, self._slots, self._pages, self._work, self._candidates,
                self._terms if self._n_constrained else None, len(self._in_slot),
                self._interrupted, 1 if self._n_told else STEP_TOKENS, self._step_rows,
            )  # fmt: skip
            return [self._finished(int(slot)) for slot in self._candidates.done[:n_done]]
        except BaseException:
            self._reset()
            raise
        finally:
            # Who interrupts from now on is heard by the next step.
            self._interrupted[0] = 0

    def _join(self) -> None:
        """Encode what waits, as many at once as the workspace has rows."""
        while self._waiting:
            batch: list[Job] = []
            n_tokens = 0
            while self._waiting and (
                not batch or n_tokens + len(self._waiting[0].source_ids) <= MAX_ROWS
            ):
                batch.append(self._waiting.popleft())
                n_tokens += len(batch[-1].source_ids)
            newcomers = np.array([self._enter(job) for job in batch], np.int64)
            lengths = [len(job.source_ids) for job in batch]
            ids = np.fromiter(
                itertools.chain.from_iterable(job.source_ids for job in batch), np.int64, n_tokens
            )
            bounds = np.cumsum([0, *lengths])
            decoder.join(
                self._weights, ids, bounds, newcomers, self._slots, self._pages, self._work
            )

    def _check_ids(self, side: str, ids: Sequence[int], vocab_size: int) -> None:
        """Kernels take ids for offsets without looking: none may get there that is not one."""
        if not 1 <= len(ids) <= self._config.max_length:
            raise ValueError(f"{len(ids)} {side} tokens: 1 … {self._config.max_length}")
        _check_vocabulary(side, ids, vocab_size)

    def _enter(self, job: Job) -> int:
        slot = self._free_slots.pop()
        self._in_slot[slot] = job
        self._slot_of[job.id] = slot
        if job.stream:
            self._n_told[slot] = 0
        options = job.options
        occupy(
            self._slots, slot, self._pages, len(job.source_ids), options.beam_size, options.n_best,
            self._limit(job), float(options.length_penalty), self._config.start_id,
        )  # fmt: skip
        if constraints := self._constraints(job):
            self._n_constrained += 1
            constrain(self._terms, slot, constraints, self._width(job))
        return slot

    def _leave(self, slot: int) -> Job:
        job = self._in_slot.pop(slot)
        del self._slot_of[job.id]
        self._n_told.pop(slot, None)
        self._release(job)
        if self._terms.sentence[slot]["n_terms"]:
            self._n_constrained -= 1
            constrain(self._terms, slot, (), 0)
        vacate(self._slots, slot, self._pages)
        self._free_slots.append(slot)
        return job

    def _release(self, job: Job) -> None:
        self._reserved_pages -= self._pages_for(job)
        self._reserved_rows -= self._width(job)

    def _reset(self) -> None:
        for slot in list(self._in_slot):
            self._leave(slot)
        self._waiting.clear()
        # Those on their way from waiting to a slot are in neither.
        self._reserved_pages = self._reserved_rows = 0

    def _limit(self, job: Job) -> int:
        return job.options.token_limit(len(job.source_ids), self._config.max_length)

    def _constraints(self, job: Job) -> tuple[Constraint, ...]:
        wanted = job.options.constraints
        return fitting(wanted, self._limit(job)) if wanted else ()

    def _width(self, job: Job) -> int:
        """Hypotheses that it may have."""
        if not job.options.constraints:
            return job.options.beam_size
        return search_width(job.options.beam_size, len(self._constraints(job)))

    def _pages_for(self, job: Job) -> int:
        return pages_needed(len(job.source_ids), self._width(job), self._limit(job))

    def _finished(self, slot: int) -> Finished:
        failed = bool(self._slots.failed[slot])
        found = [] if failed else self._hypotheses(slot, self._in_slot[slot].options)
        job = self._leave(slot)
        if failed:
            error = NumericalError("the model's output is not finite for this input")
            return Finished(job.id, error)
        return Finished(job.id, found)

    def _hypotheses(self, slot: int, options: SearchOptions) -> list[Hypothesis]:
        slots = self._slots
        found = []
        for place in range(options.n_best):
            if slots.score[slot, place] == -np.inf:
                break
            n = slots.n_tokens[slot, place]
            ids = slots.tokens[slot, place, :n].tolist()
            log_probs = slots.log_probs[slot, place, :n].tolist()
            found.append(finished_hypothesis(ids, log_probs, self._config.eos_id, options))
        return best_first(found, options)

    def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> NDArray[np.float32]:
        """Attention weights [layers, heads, T, S]; see `Engine.explain`. Raises as `admit`."""
        self._check_pair(source_ids, target_ids)
        return explanation.explain(self._weights, self._work, source_ids, target_ids, kind)

    def score(
        self, source_ids: Sequence[int], target_ids: Sequence[int], options: SearchOptions
    ) -> NDArray[np.float32]:
        """Log-probabilities [T]; see `Engine.score`. Raises as `admit`."""
        _check_rule(options)
        self._check_pair(source_ids, target_ids)
        return explanation.score(self._weights, self._work, source_ids, target_ids)

    def _check_pair(self, source_ids: Sequence[int], target_ids: Sequence[int]) -> None:
        self._check_ids("source", source_ids, self._config.source_vocab_size)
        self._check_ids("target", target_ids, self._config.target_vocab_size)


def _row_work(config: TransformerConfig) -> int:
    """Multiply-adds in the products of one row, from a token to its logits."""
    width, inner = config.d_model, config.d_ff_of_decoder
    layer = 6 * width * width + 2 * width * inner  # queries, keys, values, outputs; feed-forward
    return config.n_decoder_layers * layer + config.target_vocab_size * width


def _check_vocabulary(side: str, ids: Sequence[int], vocab_size: int) -> None:
    if not 0 <= min(ids) <= max(ids) < vocab_size:
        raise ValueError(f"a {side} id outside the vocabulary of {vocab_size}")


def _check_rule(options: SearchOptions) -> None:
    if options.rule is not None:
        raise ValueError("this engine searches by attend's own rule only")
