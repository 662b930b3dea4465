"""The reference engine: plain modules, one whole search per step. Slow, simple, and right."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from model.decoding.beam import beam_search
from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import AttentionKind, EngineInfo, Finished, Job, Progress
from model.tensors import padded_ids
from model.transformer import AttentionRecord, Transformer

MAX_LOGITS = 2**25
"""Of one decoding step, over all rows: 128 MB in float32, of which a search holds a few copies."""


class EagerEngine:
    """Runs admitted jobs that share search options as one padded batch; see `Engine`.

    max_batch_tokens  jobs admitted × the longest of them, in source tokens
    """

    def __init__(self, model: Transformer, max_batch_tokens: int = 16_384) -> None:
        self._model = model.eval()
        self._max_batch_tokens = max_batch_tokens
        self._jobs: dict[int, Job] = {}
        self._longest = 0

    @property
    def info(self) -> EngineInfo:
        """Device, precision and threads."""
        precision = str(self._model.output.weight.dtype).removeprefix("torch.")
        return EngineInfo(str(self._model.device), precision, torch.get_num_threads())

    @property
    def busy(self) -> bool:
        """True while jobs are admitted and not finished."""
        return bool(self._jobs)

    def room(self, job: Job) -> bool:
        """Whether the padded batch stays within its bound."""
        longest = max(self._longest, len(job.source_ids))
        return not self._jobs or longest * (len(self._jobs) + 1) <= self._max_batch_tokens

    def admit(self, jobs: Sequence[Job]) -> None:
        """Take jobs in."""
        self._jobs |= {job.id: job for job in jobs}
        self._longest = max(self._longest, *(len(job.source_ids) for job in jobs), 0)

    def cancel(self, job_ids: Sequence[int]) -> None:
        """Drop jobs."""
        for job_id in job_ids:
            self._jobs.pop(job_id, None)
        self._longest = max((len(job.source_ids) for job in self._jobs.values()), default=0)

    def progress(self) -> list[Progress]:
        """None, since a job is finished by the step that begins it."""
        return []

    def interrupt(self) -> None:
        """A search cannot be stopped half-way."""

    def step(self) -> list[Finished]:
        """Finish the jobs that have the options of the oldest, as many as memory allows."""
        if not self._jobs:
            return []
        options = next(iter(self._jobs.values())).options
        n_most = max(1, MAX_LOGITS // (options.beam_size * self._model.config.target_vocab_size))
        alike = (job for job in self._jobs.values() if job.options == options)
        batch = list(itertools.islice(alike, n_most))
        self.cancel([job.id for job in batch])
        try:
            return self._search(batch, options)
        except Exception as error:
            return [Finished(job.id, error) for job in batch]

    def _search(self, batch: list[Job], options: SearchOptions) -> list[Finished]:
        config = self._model.config
        source = padded_ids([job.source_ids for job in batch], config.pad_id, self._model.device)
        found = beam_search(self._model, source, options)
        return [Finished(job.id, hypotheses) for job, hypotheses in zip(batch, found, strict=True)]

    @torch.inference_mode()
    def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> NDArray[np.float32]:
        """Attention weights [layers, heads, T, S]; see `Engine.explain`."""
        model = self._model
        record = AttentionRecord()
        source = torch.tensor([list(source_ids)], device=model.device)
        memory = model.encode(source, record if kind == "encoder" else None)
        if kind != "encoder":
            fed = [model.config.start_id, *target_ids[:-1]]
            model.decode(memory, torch.tensor([fed], device=model.device), record)
        layers: list[torch.Tensor] = getattr(record, kind)
        weights: NDArray[np.float32] = torch.cat(layers).float().cpu().numpy()
        return weights
