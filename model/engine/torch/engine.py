"""In-flight batching on any torch device: sentences join and leave between any two steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import torch

from model.decoding.constraints import PieceEdges
from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import Traits
from model.engine.admissible import check_job
from model.engine.explanations import DelegatedExplanations
from model.engine.protocol import Engine, EngineInfo, EngineMemory, Finished, Job, Progress
from model.engine.torch.admission import Admission, max_rows
from model.engine.torch.batch import Batch, Shared
from model.engine.torch.constrained import ConstrainedSearches
from model.engine.torch.decoder import StepDecoder
from model.engine.torch.graphs import Recorder, recorder_for
from model.engine.torch.memory_short import give_back_unused
from model.engine.torch.transfers import ReportReader
from model.transformer.transformer import Transformer

MAX_IDLE_BATCHES = 2
"""Whose memory is kept for the next sentences of their kind."""

RECOVERY_STEPS = 500
"""Steps without a shortage of memory after which twice as many sentences may be in flight again."""

Kind = tuple[int, Traits]
"""What the sentences of a batch have in common: the beam size, and the traits of the search."""


class TorchEngine(DelegatedExplanations):
    """One device's engine; see `Engine`. The reference explains, one sentence at a time.

    reference         takes teacher-forced passes and traces, on the same model
    max_batch_tokens  sentences in flight × the longest of them, in source tokens
    edges             of the target vocabulary, for constraints: where their words may end
    recorder          of graphs; by default the device's, if it has one
    """

    def __init__(
        self,
        model: Transformer,
        reference: Engine,
        max_batch_tokens: int = 16_384,
        edges: PieceEdges | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        super().__init__(reference)
        self._model = model.eval()
        self._device = model.device
        decoder, self._reader = StepDecoder(model), ReportReader(self._device)
        recorder = recorder or recorder_for(self._device)
        self._shared = Shared(model, decoder, self._reader, recorder)
        self._max_rows = max_rows(self._device.type)
        self._present = Admission(model.config, self._max_rows, max_batch_tokens)
        self._ceiling = self._max_rows  # sentences in flight, lowered where memory is short
        self._n_steps_since_shortage = 0
        self._waiting: deque[Job] = deque()
        self._batches: dict[Kind, Batch] = {}
        edges = edges or PieceEdges.none(model.config.target_vocab_size)
        self._constrained = ConstrainedSearches(model, edges)
        self._prepared: Kind | None = None
        self._interrupted = False
        self._weights_bytes = reference.memory.weights + decoder.n_bytes
        self._work_bytes = 0

    @torch.inference_mode()
    def prepare(self, options: SearchOptions) -> None:
        """Record graphs for searches of a kind before the first job, if the device has graphs."""
        if self._shared.recorder is None:
            return
        if self._device.type == "cuda":
            torch.cuda.set_device(self._device)
        self._prepared = (options.beam_size, options.traits)
        batch = self._batch(self._prepared)
        batch.prepare()
        self._work_bytes = batch.n_bytes

    @property
    def info(self) -> EngineInfo:
        """Which engine it is, device, precision and threads."""
        precision = str(self._model.output.weight.dtype).removeprefix("torch.")
        threads = torch.get_num_threads() if self._device.type == "cpu" else 1
        return EngineInfo("torch", str(self._device), precision, threads)

    @property
    def memory(self) -> EngineMemory:
        """The weights, and the slots of all batches; what a single step needs is gone after it."""
        return EngineMemory(self._weights_bytes, self._work_bytes)

    @property
    def busy(self) -> bool:
        """True while jobs are admitted and neither finished nor cancelled."""
        return bool(self._present)

    @property
    def _n_in_flight(self) -> int:
        return len(self._constrained) + sum(len(batch) for batch in self._batches.values())

    def room(self, job: Job) -> bool:
        """Whether the job fits beside those that are here."""
        if not self.busy:
            return True
        return len(self._present) < self._ceiling and self._present.fits(job)

    def admit(self, jobs: Sequence[Job]) -> None:
        """Take jobs in; they join at the next step. Raises `ValueError` if they cannot."""
        for job in jobs:
            check_job(job, self._model.config)
        for job in jobs:
            self._present.keep(job)
            self._waiting.append(job)

    def cancel(self, job_ids: Sequence[int]) -> None:
        """Drop jobs, waiting or in flight."""
        dropped = set(job_ids)
        self._waiting = deque(job for job in self._waiting if job.id not in dropped)
        self._constrained.cancel(dropped)
        for batch in self._batches.values():
            batch.cancel(dropped)
        for job_id in dropped:
            self._present.release(job_id)

    def interrupt(self) -> None:
        """Have the step in progress, or else the next, end with its token."""
        self._interrupted = True

    def progress(self) -> list[Progress]:
        """What all hypotheses that may become the best begin with; see `Engine.progress`."""
        news = self._constrained.progress()
        for batch in self._batches.values():
            news += batch.progress()
        return news

    @torch.inference_mode()
    def step(self) -> list[Finished]:
        """Let those that wait join, then advance every sentence until one ends."""
        if self._device.type == "cuda":  # of this thread, for graphs and pinned memory
            torch.cuda.set_device(self._device)
        finished: list[Finished] = []
        try:
            while self.busy and not finished:
                finished = self._join()
                finished += self._advance()
                for done in finished:
                    self._present.release(done.job_id)
                if self._interrupted or self._streams:
                    break
        except BaseException:
            self._reset()
            raise
        finally:
            # An interrupt from now on concerns the next step.
            self._interrupted = False
            self._work_bytes = sum(batch.n_bytes for batch in self._batches.values())
        return finished

    @property
    def _streams(self) -> bool:
        return self._constrained.streams or any(one.streams for one in self._batches.values())

    def _join(self) -> list[Finished]:
        """Start the jobs that wait, as many as the ceiling allows; return those that cannot be."""
        n_free = self._ceiling - self._n_in_flight
        newcomers = [self._waiting.popleft() for _ in range(min(n_free, len(self._waiting)))]
        kinds: dict[Kind, list[Job]] = {}
        for job in newcomers:
            if job.options.constraints:
                self._constrained.join([job])
            else:
                kinds.setdefault((job.options.beam_size, job.options.traits), []).append(job)
        left: list[Job] = []
        for kind, jobs in kinds.items():
            left += self._batch(kind).join(jobs)
        return self._defer(left) if left else []

    def _batch(self, kind: Kind) -> Batch:
        """Return the batch of a kind; the latest used is the last."""
        batch = self._batches.pop(kind, None)
        if batch is None:
            self._drop_idle(MAX_IDLE_BATCHES - 1)
            beam, traits = kind
            max_slots = max(1, self._max_rows // beam)
            batch = Batch(self._shared, beam, traits, max_slots)
        self._batches[kind] = batch
        return batch

    def _drop_idle(self, n_kept: int) -> None:
        """Drop all batches without sentences but the latest used, and the one with graphs.

        With `n_kept` 0, which is when memory is short, drop this one too.
        """
        kept = self._prepared if n_kept else None
        idle = [kind for kind, batch in self._batches.items() if not batch and kind != kept]
        for kind in idle[: max(0, len(idle) - n_kept)]:
            del self._batches[kind]

    def _advance(self) -> list[Finished]:
        """Take every sentence a token further; return those that ended."""
        finished: list[Finished] = []
        parts: list[ConstrainedSearches | Batch] = [self._constrained, *self._batches.values()]
        for part in parts:
            if not part:
                continue
            ended, left = part.advance()
            finished += ended
            if left:
                finished += self._defer(left)
        self._n_steps_since_shortage += 1
        if self._n_steps_since_shortage >= RECOVERY_STEPS:
            self._n_steps_since_shortage = 0
            self._ceiling = min(2 * self._ceiling, self._max_rows)
            for batch in self._batches.values():
                batch.widen()
        return finished

    def _defer(self, jobs: list[Job]) -> list[Finished]:
        """Let jobs for which memory is too short wait, to start anew beside fewer others.

        One for which it is too short alone fails.
        """
        self._n_steps_since_shortage = 0
        self._drop_idle(0)
        give_back_unused(self._device)
        if len(jobs) == 1 and not self._n_in_flight:
            return [Finished(jobs[0].id, MemoryError("the device has no memory left"))]
        self._ceiling = max(1, self._n_in_flight or len(jobs) // 2)
        self._waiting.extendleft(reversed(jobs))
        return []

    def _reset(self) -> None:
        self._present.clear()
        self._waiting.clear()
        self._constrained.clear()
        self._batches.clear()
