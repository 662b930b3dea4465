"""Traces the reference search by wrapping its model, so that searches need no changes.

A search requests the next tokens of its rows and selects the surviving rows; both are recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor

from model.decoding.agreement import finished
from model.decoding.beam import beam_steps
from model.decoding.constrained import constrained_steps
from model.decoding.constraints import PieceEdges
from model.decoding.distribution import allowed_tokens, drawn_numbers, next_log_probs
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.decoding.trace import N_LIKELIEST, Beam, Ended, NextToken, SearchStep, SearchTrace
from model.transformer.decoder import DecoderCache
from model.transformer.transformer import Memory, Transformer


@torch.inference_mode()
def traced_search(
    model: Transformer, source_ids: Tensor, options: SearchOptions, edges: PieceEdges
) -> SearchTrace:
    """[1, S] → the search of one sentence, with the ends of the hypotheses in its result.

    Other projects' rules continue until K hypotheses are finished, and all of these are recorded.
    """
    wider = options if options.rule is None else replace(options, n_best=options.beam_size)
    limit = options.limits(source_ids.shape[1], model.config.max_length).n_tokens
    allowed = allowed_tokens(source_ids, model.config, options)
    draws = None if options.constraints else drawn_numbers(source_ids, model.config, options)
    traced = _TracedModel(model, options, limit, allowed, draws)
    as_model = cast("Transformer", traced)
    if options.constraints:
        [found] = finished(constrained_steps(as_model, source_ids, wider, edges))
    else:
        [found] = finished(beam_steps(as_model, source_ids, wider))
    return SearchTrace(traced.steps(found), found[: options.n_best])


class _Cache:
    """The decoder's cache; `parents` are the rows of the last step that its rows continue."""

    def __init__(self, inner: DecoderCache, parents: Sequence[int]) -> None:
        self.inner = inner
        self.parents = parents

    def select(self, rows: Tensor) -> _Cache:
        return _Cache(self.inner.select(rows), [self.parents[row] for row in rows.tolist()])

    def reorder(self, rows: Tensor) -> None:
        self.inner.reorder(rows)
        self.parents = [self.parents[row] for row in rows.tolist()]


class _TracedModel:
    """The part of `Transformer` that searches use; records each step."""

    def __init__(
        self,
        model: Transformer,
        options: SearchOptions,
        limit: int,
        allowed: Tensor | None,
        draws: Tensor | None,
    ) -> None:
        self.config = model.config
        self._model = model
        self._options = options
        self._limit = limit
        self._allowed = allowed
        self._draws = draws
        self._beams: list[list[Beam]] = []
        self._ids: list[list[tuple[int, ...]]] = []  # of the beams of each step
        self._beam_of: dict[int, int] = {}  # by the rows of the last step
        self._log_probs = torch.zeros(0)

    def encode(self, source_ids: Tensor) -> Memory:
        return self._model.encode(source_ids)

    def start(self, memory: Memory) -> _Cache:
        return _Cache(self._model.start(memory), [0] * len(memory.states))

    def step(self, ids: Tensor, cache: _Cache) -> Tensor:
        """Delegate to the model and record the rows."""
        logits = self._model.step(ids, cache.inner)
        length = len(self._beams) + 1
        at_limit = torch.full_like(ids, length >= self._limit, dtype=torch.bool)
        none = (0,) * (length - 1)  # of rows that are not live
        of_rows = [
            (*self._ids[-1][self._beam_of[parent]], token) if parent in self._beam_of else none
            for token, parent in zip(ids.tolist(), cache.parents, strict=True)
        ]
        log_probs = next_log_probs(
            logits, self.config, self._options, at_limit, ids.new_tensor(of_rows),
            allowed=self._allowed, draws=self._draws,
        ).cpu()  # fmt: skip
        likeliest = log_probs.topk(min(N_LIKELIEST, log_probs.shape[1]), dim=1)
        beams: list[Beam] = []
        beams_ids: list[tuple[int, ...]] = []
        beam_of: dict[int, int] = {}
        for row, (token, parent) in enumerate(zip(ids.tolist(), cache.parents, strict=True)):
            tokens, values = likeliest.indices[row].tolist(), likeliest.values[row].tolist()
            next_tokens = [
                NextToken(token, value)
                for token, value in zip(tokens, values, strict=True)
                if value > -torch.inf
            ]
            if not self._beams:
                if row == 0:  # the others are not live yet
                    beam_of[row] = 0
                    beams.append(Beam(None, None, 0.0, next_tokens))
                    beams_ids.append(())
                continue
            if parent not in self._beam_of:
                continue
            before = self._beam_of[parent]
            log_prob = self._beams[-1][before].log_prob + float(self._log_probs[parent, token])
            if log_prob == -torch.inf:
                continue
            beam_of[row] = len(beams)
            beams.append(Beam(before, token, log_prob, next_tokens))
            beams_ids.append((*self._ids[-1][before], token))
        self._beams.append(beams)
        self._ids.append(beams_ids)
        self._beam_of, self._log_probs = beam_of, log_probs
        cache.parents = range(len(ids))
        return logits

    def steps(self, found: Sequence[Hypothesis]) -> list[SearchStep]:
        """Return the recorded steps, with the ends of the found hypotheses."""
        ended: list[list[Ended]] = [[] for _ in self._beams]
        for hypothesis in found:
            for ids in (hypothesis.ids, hypothesis.ids[:-1]):  # cut at the limit: no end token
                if len(ids) < len(self._ids) and ids in self._ids[len(ids)]:
                    beam = self._ids[len(ids)].index(ids)
                    ended[len(ids)].append(Ended(beam, hypothesis))
                    break
        return [SearchStep(*step) for step in zip(self._beams, ended, strict=True)]
