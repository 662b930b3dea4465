"""Attention, scores and traces of single sentences, by the paper's modules."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from model.decoding.constraints import PieceEdges
from model.decoding.distribution import given_log_probs
from model.decoding.hypothesis import SearchOptions, outcome
from model.decoding.trace import SearchTrace
from model.decoding.tracing import traced_search
from model.engine.explanations import (
    Activation,
    AttentionKind,
    AttentionRow,
    IdPair,
    LayerRow,
    Projections,
)
from model.engine.jobs import check_job, check_pair
from model.engine.protocol import Job
from model.engine.torch.activations import activations
from model.transformer.transformer import AttentionRecord, Transformer


class TorchExplanations:
    """Explains a model's translations; see `Explanations`. Raises `ValueError` for invalid ids.

    edges  of the target vocabulary, for constraints: where their words may end
    """

    def __init__(self, model: Transformer, edges: PieceEdges | None) -> None:
        self._model = model.eval()
        self._edges = edges or PieceEdges.none(model.config.target_vocab_size)
        self._precision = str(model.output.weight.dtype).removeprefix("torch.")
        self._model_bytes = sum(one.nbytes for one in (*model.parameters(), *model.buffers()))

    @torch.inference_mode()
    def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> NDArray[np.float32]:
        model = self._model
        check_pair(source_ids, target_ids, model.config)
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
        return [self._score(*pair, options) for pair in pairs]

    def _score(
        self, source_ids: Sequence[int], target_ids: Sequence[int], options: SearchOptions
    ) -> NDArray[np.float32]:
        model = self._model
        check_pair(source_ids, target_ids, model.config)
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
        kind, layer, row = at
        if kind == "encoder":
            attention = list(self._model.encoder.layers)[layer].self_attention
        elif kind == "decoder":
            attention = list(self._model.decoder.layers)[layer].self_attention
        else:
            attention = list(self._model.decoder.layers)[layer].cross_attention
        outputs: dict[nn.Module, torch.Tensor] = {}

        def record(module: nn.Module, _: object, output: torch.Tensor) -> None:
            outputs[module] = output[0].unflatten(-1, (attention.n_heads, -1)).transpose(0, 1)

        linears = attention.w_q, attention.w_k, attention.w_v
        hooks = [linear.register_forward_hook(record) for linear in linears]
        try:
            weights = self.explain(source_ids, target_ids, kind)
        finally:
            for hook in hooks:
                hook.remove()
        query, keys, values = (outputs[linear].float().cpu().numpy() for linear in linears)
        n_columns = weights.shape[-1]
        seen = np.arange(n_columns) <= (row if kind == "decoder" else n_columns)
        return Projections(query[:, row : row + 1], keys, values, weights[layer, :, row], seen)

    @torch.inference_mode()
    def activations(
        self, source_ids: Sequence[int], target_ids: Sequence[int], at: LayerRow
    ) -> list[Activation]:
        check_pair(source_ids, target_ids, self._model.config)
        return activations(self._model, (source_ids, target_ids), at)

    def trace(self, source_ids: Sequence[int], options: SearchOptions) -> SearchTrace:
        """The search of one sentence, without shortlist like those of the engine.

        See `Explanations.trace`.
        """
        check_job(Job(0, tuple(source_ids), options), self._model.config)
        options = replace(options, shortlist=None)
        source = torch.tensor([list(source_ids)], device=self._model.device)
        trace = traced_search(self._model, source, options, self._edges)
        if isinstance(error := outcome(list(trace.hypotheses)), Exception):
            raise error
        return trace
