"""The reference engine: plain modules, one batch after the other. Slow, simple, and right."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from model.decoding.agreement import Agreed, Steps, finished
from model.decoding.beam import beam_steps
from model.decoding.constrained import constrained_steps
from model.decoding.constraints import PieceEdges
from model.decoding.distribution import given_log_probs
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.decoding.padding import padded_ids
from model.decoding.recorder import traced_search
from model.decoding.trace import SearchTrace
from model.engine.explanations import AttentionKind, AttentionRow, IdPair, Projections
from model.engine.protocol import EngineInfo, EngineMemory, Finished, Job, Progress
from model.errors import NumericalError
from model.transformer.transformer import AttentionRecord, Transformer

MAX_LOGITS = 2**25
"""Maximum logits of a decoding step over all rows: 128 MB in float32, of which a search has
a few copies."""


class _Search:
    """The search of a batch of jobs with the same options; `unwanted` are the ids of dropped jobs.

    It stops after every token if any of its jobs streams, else not at all.
    """

    def __init__(self, model: Transformer, batch: Sequence[Job], edges: PieceEdges) -> None:
        self.unwanted: set[int] = set()
        self._model = model
        self._batch = batch
        self._edges = edges
        self._steps: Steps | None = None
        self._agreed: Agreed | None = None
        self._n_told = dict.fromkeys((job.id for job in batch if job.stream), 0)

    @property
    def wanted(self) -> list[Job]:
        return [job for job in self._batch if job.id not in self.unwanted]

    def advance(self) -> list[Finished] | None:
        """The outcomes of those that are wanted, if it is over."""
        if self._steps is None:
            self._steps = self._begin()
        try:
            if self._n_told:
                self._agreed = next(self._steps)
                return None
            found = finished(self._steps)
        except StopIteration as end:
            found = end.value
        outcomes = zip(self._batch, found, strict=True)
        not_finite = NumericalError("the model's output is not finite for this input")
        return [
            Finished(job.id, one if _all_finite(one) else not_finite)
            for job, one in outcomes
            if job.id not in self.unwanted
        ]

    def _begin(self) -> Steps:
        pad_id, device = self._model.config.pad_id, self._model.device
        source = padded_ids([job.source_ids for job in self._batch], pad_id, device)
        options = self._batch[0].options
        if options.constraints:
            return constrained_steps(self._model, source, options, self._edges)
        return beam_steps(self._model, source, options)

    def news(self) -> list[Progress]:
        """What has become certain since it was told last."""
        if self._agreed is None:
            return []
        news = []
        for job, ids in zip(self._batch, self._agreed(), strict=True):
            if job.id not in self.unwanted and len(ids) > self._n_told.get(job.id, len(ids)):
                self._n_told[job.id] = len(ids)
                news.append(Progress(job.id, ids))
        return news


class EagerEngine:
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
        self._model = model.eval()
        self._edges = edges or PieceEdges.none(model.config.target_vocab_size)
        self._max_batch_tokens = max_batch_tokens
        self._jobs: dict[int, Job] = {}
        self._longest = 0
        self._search: _Search | None = None

    @property
    def info(self) -> EngineInfo:
        """Which engine it is, device, precision and threads."""
        precision = str(self._model.output.weight.dtype).removeprefix("torch.")
        return EngineInfo("reference", str(self._model.device), precision, torch.get_num_threads())

    @property
    def memory(self) -> EngineMemory:
        """The parameters and buffers; what a batch needs is gone after it."""
        tensors = (*self._model.parameters(), *self._model.buffers())
        return EngineMemory(sum(one.nbytes for one in tensors), 0)

    @property
    def busy(self) -> bool:
        """True while jobs are admitted and not finished."""
        return bool(self._jobs or self._search)

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
        if self._search:
            self._search.unwanted.update(job_ids)
            if not self._search.wanted:
                self._search = None

    def progress(self) -> list[Progress]:
        """The prefixes that the searches of streaming jobs agree on; see `Engine.progress`."""
        return self._search.news() if self._search else []

    def interrupt(self) -> None:
        """A search that nobody follows is not stopped."""

    def step(self) -> list[Finished]:
        """Finish the jobs that have the options of the oldest, as many as memory allows.

        If one of them streams, they are a token further instead.
        """
        search, self._search = self._search, None
        if not search:
            if not self._jobs:
                return []
            search = self._begin()
        try:
            outcomes = search.advance()
        except Exception as error:
            out_of_memory = isinstance(error, torch.OutOfMemoryError)
            failure = MemoryError("the device has no memory left") if out_of_memory else error
            if len(search.wanted) == 1:
                return [Finished(search.wanted[0].id, failure)]
            # Among several, the caller may find out which one it was.
            self.cancel(list(self._jobs))
            raise failure from None
        if outcomes is None:
            self._search = search
            return []
        return outcomes

    def _begin(self) -> _Search:
        options = next(iter(self._jobs.values())).options
        n_most = max(1, MAX_LOGITS // (options.beam_size * self._model.config.target_vocab_size))
        if options.constraints:
            n_most = 1
        alike = (job for job in self._jobs.values() if job.options == options)
        batch = list(itertools.islice(alike, n_most))
        self.cancel([job.id for job in batch])
        return _Search(self._model, batch, self._edges)

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

    @torch.inference_mode()
    def score(self, pairs: Sequence[IdPair], options: SearchOptions) -> list[NDArray[np.float32]]:
        """Log-probabilities [T] of given targets' tokens; see `Engine.score`."""
        return [self._score(*pair, options) for pair in pairs]

    def _score(
        self, source_ids: Sequence[int], target_ids: Sequence[int], options: SearchOptions
    ) -> NDArray[np.float32]:
        model = self._model
        source = torch.tensor([list(source_ids)], device=model.device)
        target = torch.tensor(list(target_ids), device=model.device)
        fed = torch.cat((target.new_tensor([model.config.start_id]), target[:-1]))
        logits = model(source, fed[None])[0]
        distribution = given_log_probs(logits, model.config, options)
        log_probs: NDArray[np.float32] = distribution.gather(1, target[:, None])[:, 0].cpu().numpy()
        if options.first_id is not None:
            log_probs[0] = 0 if target_ids[0] == options.first_id else -math.inf
        return log_probs

    @torch.inference_mode()
    def project(
        self, source_ids: Sequence[int], target_ids: Sequence[int], at: AttentionRow
    ) -> Projections:
        """What one attention computes with; see `Engine.project`."""
        model = self._model
        kind, layer, row = at
        if kind == "encoder":
            attention = list(model.encoder.layers)[layer].self_attention
        elif kind == "decoder":
            attention = list(model.decoder.layers)[layer].self_attention
        else:
            attention = list(model.decoder.layers)[layer].cross_attention
        heard: dict[nn.Module, torch.Tensor] = {}

        def hear(module: nn.Module, _: object, output: torch.Tensor) -> None:
            heard[module] = output[0].unflatten(-1, (attention.n_heads, -1)).transpose(0, 1)

        linears = attention.w_q, attention.w_k, attention.w_v
        handles = [linear.register_forward_hook(hear) for linear in linears]
        try:
            weights = self.explain(source_ids, target_ids, kind)
        finally:
            for handle in handles:
                handle.remove()
        query, keys, values = (heard[linear].float().cpu().numpy() for linear in linears)
        n_columns = weights.shape[-1]
        seen = np.arange(n_columns) <= (row if kind == "decoder" else n_columns)
        chosen = weights[layer, :, row]
        return Projections(query[:, row : row + 1], keys, values, chosen, seen)

    def trace(self, source_ids: Sequence[int], options: SearchOptions) -> SearchTrace:
        """The search of one sentence; see `Engine.trace`."""
        source = torch.tensor([list(source_ids)], device=self._model.device)
        trace = traced_search(self._model, source, options, self._edges)
        if not _all_finite(list(trace.hypotheses)):
            raise NumericalError("the model's output is not finite for this input")
        return trace


def _all_finite(hypotheses: Sequence[Hypothesis]) -> bool:
    return bool(hypotheses) and all(math.isfinite(one.score) for one in hypotheses)
