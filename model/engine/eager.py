"""The reference engine: plain modules, one batch after the other. Slow, simple, and right."""

import itertools
from collections.abc import Iterator, Sequence

import torch

from model.decoding.agreement import Agreed, Steps, finished
from model.decoding.beam import beam_steps
from model.decoding.constrained import constrained_steps
from model.decoding.constraints import PieceEdges
from model.decoding.hypothesis import outcome
from model.decoding.padding import padded_ids
from model.engine.jobs import grown
from model.engine.protocol import EngineInfo, EngineMemory, Finished, Job, Progress
from model.engine.torch.device import memory_errors
from model.engine.torch.explanations import TorchExplanations
from model.transformer.transformer import Transformer

MAX_LOGITS = 2**25
"""Maximum logits of a decoding step (a search has a few copies): 128 MB in float32."""


class _Search:
    """The search of a batch of jobs with the same options; `cancelled` are ids of dropped jobs.

    It yields after every token if any of its jobs streams, else it runs to its end.
    """

    def __init__(self, model: Transformer, batch: Sequence[Job], edges: PieceEdges) -> None:
        self.cancelled: set[int] = set()
        self._model = model
        self._batch = batch
        self._edges = edges
        self._steps: Steps | None = None
        self._agreed: Agreed | None = None

    @property
    def jobs(self) -> list[Job]:
        return [job for job in self._batch if job.id not in self.cancelled]

    def advance(self) -> list[Finished] | None:
        """Return the outcomes of jobs not cancelled, or None while running."""
        if self._steps is None:
            self._steps = self._start()
        try:
            if any(job.stream for job in self._batch):
                self._agreed = next(self._steps)
                return None
            found = finished(self._steps)
        except StopIteration as end:
            found = end.value
        return [
            Finished(job.id, outcome(hypotheses))
            for job, hypotheses in zip(self._batch, found, strict=True)
            if job.id not in self.cancelled
        ]

    def _start(self) -> Steps:
        pad_id, device = self._model.config.pad_id, self._model.device
        source = padded_ids([job.source_ids for job in self._batch], pad_id, device)
        options = self._batch[0].options
        if options.constraints:
            return constrained_steps(self._model, source, options, self._edges)
        return beam_steps(self._model, source, options)

    def prefixes(self) -> Iterator[tuple[int, list[int]]]:
        """Yield the stable prefix of each job that streams."""
        prefixes = self._agreed() if self._agreed else []
        for job, ids in zip(self._batch, prefixes, strict=False):
            if job.stream and job.id not in self.cancelled:
                yield job.id, ids


class EagerEngine(TorchExplanations):
    """Runs admitted jobs that share search options as one padded batch; see `Engine`.

    max_batch_tokens  jobs admitted × the longest of them, in source tokens
    edges             of the target vocabulary, for constraints: where their words may end

    Jobs with constraints are searched one by one.
    """

    def __init__(
        self,
        model: Transformer,
        max_batch_tokens: int = 16_384,
        edges: PieceEdges | None = None,
    ) -> None:
        super().__init__(model, edges)
        self._max_batch_tokens = max_batch_tokens
        self._jobs: dict[int, Job] = {}
        self._search: _Search | None = None
        self._reported: dict[int, int] = {}  # lengths of the prefixes of jobs that stream

    @property
    def info(self) -> EngineInfo:
        """Which engine it is, device, precision and threads."""
        device, threads = str(self._model.device), torch.get_num_threads()
        return EngineInfo("reference", device, self._precision, threads)

    @property
    def memory(self) -> EngineMemory:
        """The parameters and buffers, without temporary memory of a batch."""
        return EngineMemory(self._model_bytes, 0)

    @property
    def busy(self) -> bool:
        """True while jobs are admitted and not finished."""
        return bool(self._jobs or self._search)

    def can_admit(self, job: Job) -> bool:
        """Whether the padded batch stays within its bound."""
        longest = max(len(one.source_ids) for one in (job, *self._jobs.values()))
        return not self._jobs or longest * (len(self._jobs) + 1) <= self._max_batch_tokens

    def admit(self, jobs: Sequence[Job]) -> None:
        """Admit jobs."""
        self._jobs |= {job.id: job for job in jobs}

    def cancel(self, job_ids: Sequence[int]) -> None:
        """Drop jobs."""
        for job_id in job_ids:
            self._jobs.pop(job_id, None)
            self._reported.pop(job_id, None)
        if self._search:
            self._search.cancelled.update(job_ids)
            if not self._search.jobs:
                self._search = None

    def progress(self) -> list[Progress]:
        """Return the stable prefixes that have grown; see `Engine.progress`."""
        return grown(self._search.prefixes() if self._search else (), self._reported)

    def interrupt(self) -> None:
        """Do nothing: a search that does not stream runs to its end."""

    def step(self) -> list[Finished]:
        """Finish the jobs that share the options of the oldest, as many as memory allows.

        If one of them streams, advance them by a token instead.
        """
        search, self._search = self._search, None
        if not search:
            if not self._jobs:
                return []
            search = self._next_search()
        try:
            with memory_errors():
                outcomes = search.advance()
        except Exception as error:
            if len(search.jobs) > 1:  # the caller can find the culprit
                self._jobs.clear()
                self._reported.clear()
                raise
            outcomes = [Finished(search.jobs[0].id, error)]
        if outcomes is None:
            self._search = search
        for job_id, _ in outcomes or ():
            self._reported.pop(job_id, None)
        return outcomes or []

    def _next_search(self) -> _Search:
        options = next(iter(self._jobs.values())).options
        n_most = max(1, MAX_LOGITS // (options.beam_size * self._model.config.target_vocab_size))
        if options.constraints:
            n_most = 1
        alike = (job for job in self._jobs.values() if job.options == options)
        batch = list(itertools.islice(alike, n_most))
        self.cancel([job.id for job in batch])
        return _Search(self._model, batch, self._edges)
