"""In-flight batching on any torch device: sentences join and leave between any two steps."""

import itertools
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch

from model.decoding.constraints import PieceEdges
from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import Traits
from model.engine.jobs import check_job, grown
from model.engine.protocol import EngineInfo, EngineMemory, Finished, Job, Progress
from model.engine.torch.batch import Batch, Shared
from model.engine.torch.constrained import ReferenceSearches, is_searched_alone
from model.engine.torch.decoder import StepDecoder
from model.engine.torch.device import ReportReader, release_cache
from model.engine.torch.explanations import TorchExplanations
from model.engine.torch.graphs import Capture, capture_for
from model.engine.torch.slots import MAX_ROWS, MAX_ROWS_ELSEWHERE, Capacity, is_long
from model.transformer.transformer import Transformer

MAX_IDLE_BATCHES = 2
"""Empty batches kept allocated for reuse."""

RECOVERY_STEPS = 500
"""Steps without a shortage of memory after which the limit of sentences in flight doubles."""


class Kind(NamedTuple):
    """Shared by the sentences of a batch: the beam size, traits and `min_length` of the search, and
    whether any needs more positions than steps are recorded for.

    Long ones have a batch of their own, which is dropped when it is empty: the slots of a batch
    have the positions of its longest sentence, and graphs end when slots grow.
    """

    beam: int
    traits: Traits
    is_long: bool
    min_length: int = 0


class TorchEngine(TorchExplanations):
    """One device's engine; see `Engine`.

    max_batch_tokens  sentences in flight × the longest of them, in source tokens
    edges             of the target vocabulary, for constraints: where their words may end
    capture           of graphs; by default the device's, if it has one
    """

    def __init__(
        self,
        model: Transformer,
        max_batch_tokens: int = 16_384,
        edges: PieceEdges | None = None,
        capture: Capture | None = None,
    ) -> None:
        super().__init__(model, edges)
        self._device = model.device
        decoder, self._reader = StepDecoder(model), ReportReader(self._device)
        self._shared = Shared(model, decoder, self._reader, capture or capture_for(self._device))
        self._max_rows = MAX_ROWS.get(self._device.type, MAX_ROWS_ELSEWHERE)
        self._capacity = Capacity(model.config, self._max_rows, max_batch_tokens)
        self._ceiling = self._max_rows  # sentences in flight, lowered when memory is short
        self._n_steps_since_shortage = 0
        self._waiting: deque[Job] = deque()
        self._batches: dict[Kind, Batch] = {}
        self._constrained = ReferenceSearches(model, self._edges)
        self._prepared: Kind | None = None
        self._interrupted = False
        self._reported: dict[int, int] = {}  # lengths of the prefixes of jobs that stream
        self._weights_bytes = self._model_bytes + decoder.n_bytes
        self._work_bytes = 0

    @torch.inference_mode()
    def prepare(self, options: SearchOptions) -> None:
        """Capture graphs for searches of a kind before the first job, if the device can."""
        if self._shared.capture is None:
            return
        if self._device.type == "cuda":
            torch.cuda.set_device(self._device)
        if is_searched_alone(options):
            return
        self._prepared = Kind(
            options.beam_size,
            options.traits,
            is_long=False,
            min_length=options.processors.min_length,
        )
        batch = self._batch(self._prepared)
        batch.prepare(options)
        self._work_bytes = batch.n_bytes

    @property
    def info(self) -> EngineInfo:
        threads = torch.get_num_threads() if self._device.type == "cpu" else 1
        return EngineInfo("torch", str(self._device), self._precision, threads)

    @property
    def memory(self) -> EngineMemory:
        """The weights, and the slots of all batches, without temporary memory of a step."""
        return EngineMemory(self._weights_bytes, self._work_bytes)

    @property
    def busy(self) -> bool:
        return bool(self._capacity)

    @property
    def _parts(self) -> list[ReferenceSearches | Batch]:
        return [self._constrained, *self._batches.values()]

    @property
    def _n_in_flight(self) -> int:
        return sum(map(len, self._parts))

    def can_admit(self, job: Job) -> bool:
        if not self.busy:
            return True
        return len(self._capacity) < self._ceiling and self._capacity.fits(job)

    def admit(self, jobs: Sequence[Job]) -> None:
        """Admit jobs; they join at the next step. Raises `ValueError` for invalid ids.

        Shortlists are ignored: all rows are multiplied by the whole output matrix at once.
        """
        for job in jobs:
            check_job(job, self._model.config)
        for job in jobs:
            self._capacity.reserve(job)
            self._waiting.append(replace(job, options=replace(job.options, shortlist=None)))

    def cancel(self, job_ids: Sequence[int]) -> None:
        dropped = set(job_ids)
        self._waiting = deque(job for job in self._waiting if job.id not in dropped)
        for part in self._parts:
            part.cancel(dropped)
        self._release(dropped)

    def _release(self, job_ids: Iterable[int]) -> None:
        for job_id in job_ids:
            self._capacity.release(job_id)
            self._reported.pop(job_id, None)

    def interrupt(self) -> None:
        """Make the present step, or else the next, end after its token."""
        self._interrupted = True

    def progress(self) -> list[Progress]:
        prefixes = itertools.chain.from_iterable(part.prefixes() for part in self._parts)
        return grown(prefixes, self._reported)

    @torch.inference_mode()
    def step(self) -> list[Finished]:
        """Let waiting jobs join, then advance every sentence until one ends."""
        if self._device.type == "cuda":  # of this thread, for graphs and pinned memory
            torch.cuda.set_device(self._device)
        finished: list[Finished] = []
        try:
            while self.busy and not finished:
                finished = self._join()
                finished += self._advance()
                self._release(done.job_id for done in finished)
                streams = any(job.stream for part in self._parts for job in part.jobs)
                if self._interrupted or streams:
                    break
        except BaseException:
            self._capacity.clear()
            self._reported.clear()
            self._waiting.clear()
            self._constrained.clear()
            self._batches.clear()
            raise
        finally:
            self._interrupted = False  # later interrupts apply to the next step
            self._work_bytes = sum(batch.n_bytes for batch in self._batches.values())
        return finished

    def _join(self) -> list[Finished]:
        """Start waiting jobs, as many as the ceiling allows; return those that cannot start."""
        n_free = self._ceiling - self._n_in_flight
        kinds: dict[Kind, list[Job]] = {}
        for _ in range(min(n_free, len(self._waiting))):
            job = self._waiting.popleft()
            if is_searched_alone(job.options):
                self._constrained.join([job])
            else:
                kinds.setdefault(self._kind(job), []).append(job)
        left: list[Job] = []
        for kind, jobs in kinds.items():
            left += self._batch(kind).join(jobs)
        return self._defer(left) if left else []

    def _kind(self, job: Job) -> Kind:
        options = job.options
        long, min_length = is_long(job, self._model.config), options.processors.min_length
        return Kind(options.beam_size, options.traits, long, min_length)

    def _batch(self, kind: Kind) -> Batch:
        """Return the batch of a kind; the most recently used is the last."""
        batch = self._batches.pop(kind, None)
        if batch is None:
            self._drop_idle(MAX_IDLE_BATCHES - 1)
            n_slots = max(1, self._max_rows // kind.beam)
            batch = Batch(self._shared, kind.beam, kind.traits, n_slots, kind.min_length)
        self._batches[kind] = batch
        return batch

    def _drop_idle(self, n_kept: int) -> None:
        """Drop empty batches, except the `n_kept` most recently used and the one with graphs.

        With `n_kept` 0, which means that memory is short, drop that one too.
        """
        kept = self._prepared if n_kept else None
        idle = [kind for kind, batch in self._batches.items() if not batch and kind != kept]
        for kind in idle[: max(0, len(idle) - n_kept)]:
            del self._batches[kind]

    def _advance(self) -> list[Finished]:
        """Advance every sentence by a token; return those that ended."""
        finished: list[Finished] = []
        self._constrained.beside_batches = any(map(len, self._batches.values()))
        for part in filter(len, self._parts):
            ended, left = part.advance()
            finished += ended
            if left:
                finished += self._defer(left)
        for kind in [kind for kind, batch in self._batches.items() if kind.is_long and not batch]:
            del self._batches[kind]
        self._n_steps_since_shortage += 1
        if self._n_steps_since_shortage >= RECOVERY_STEPS:
            self._n_steps_since_shortage = 0
            self._ceiling = min(2 * self._ceiling, self._max_rows)
            for batch in self._batches.values():
                batch.widen()
        return finished

    def _defer(self, jobs: list[Job]) -> list[Finished]:
        """Queue jobs for which memory is short, to restart beside fewer others.

        A job that does not fit alone fails.
        """
        self._n_steps_since_shortage = 0
        self._drop_idle(0)
        release_cache(self._device)
        if len(jobs) == 1 and not self._n_in_flight:
            return [Finished(jobs[0].id, MemoryError("the device has no memory left"))]
        self._ceiling = max(1, self._n_in_flight or len(jobs) // 2)
        self._waiting.extendleft(reversed(jobs))
        return []
