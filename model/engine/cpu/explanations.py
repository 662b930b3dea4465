"""Explains single sentences with the kernels that translate.

It uses the engine's workspace, with slots and pages of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from model.decoding.constraints import PieceEdges
from model.decoding.hypothesis import SearchOptions, finished_hypothesis, outcome_of_rows
from model.decoding.trace import N_LIKELIEST, Beam, Ended, NextToken, SearchStep, SearchTrace
from model.engine.cpu import search
from model.engine.cpu.activations import decoder_activations, encoder_activations
from model.engine.cpu.capacity import MAX_ROWS, MAX_SENTENCES
from model.engine.cpu.forward.decoder import NewSentences
from model.engine.cpu.forward.encoder import encode
from model.engine.cpu.forward.output import make_predictions, predict
from model.engine.cpu.forward.slots import (
    MAX_BEAM,
    PAGE,
    Pages,
    Slots,
    make_pages,
    make_slots,
    pages_needed,
)
from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.forward.workspace import Workspace, make_workspace
from model.engine.cpu.hypotheses import finished_row, finished_rows
from model.engine.cpu.kernels.arrays import Floats
from model.engine.cpu.kernels.work_queue import WorkQueue
from model.engine.cpu.teacher_forcing import forced, memory_for
from model.engine.cpu.terms import make_terms
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
from model.transformer.config import TransformerConfig


class CpuExplanations:
    """Explains single sentences between two steps; see `Explanations`.

    Raises `ValueError` for ids or lengths that the model does not have.
    """

    def __init__(
        self,
        config: TransformerConfig,
        weights: Weights,
        edges: PieceEdges | None,
        queue: WorkQueue,
    ) -> None:
        self._config = config
        self._weights = weights
        self._edges = edges or PieceEdges.none(config.target_vocab_size)
        n_rows = max(MAX_ROWS, config.max_length)
        self._work = make_workspace(weights, n_rows, queue)
        self._candidates = search.make_candidates(n_rows, MAX_SENTENCES, config.max_length)

    def check(self, job: Job) -> None:
        """Raise `ValueError` for a job that the kernels cannot run."""
        check_job(job, self._config)
        if job.options.beam_size > MAX_BEAM:
            raise ValueError(f"beam_size {job.options.beam_size}: at most {MAX_BEAM}")

    def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> Floats:
        check_pair(source_ids, target_ids, self._config)
        pair, weights = (source_ids, target_ids), self._weights
        if kind == "encoder":
            return _encoder_record(weights, self._work, source_ids)
        slots, pages = memory_for(weights, [pair])
        of_self, of_cross = _decoder_records(weights, pair)
        for _ in forced(weights, self._work, [pair], slots, pages, of_self, of_cross):
            pass
        return of_self if kind == "decoder" else of_cross

    def score(self, pairs: Sequence[IdPair], options: SearchOptions) -> list[Floats]:
        for pair in pairs:
            check_pair(*pair, self._config)
        n_rows = len(self._work.x)
        found: list[Floats] = []
        for first in range(0, len(pairs), n_rows):
            found += self._score(pairs[first : first + n_rows], options)
        return found

    def _score(self, pairs: Sequence[IdPair], options: SearchOptions) -> list[Floats]:
        """Score at most as many pairs as there are rows, together, a token a step."""
        weights, work = self._weights, self._work
        log_probs = [np.zeros(len(target_ids), np.float32) for _, target_ids in pairs]
        predictions = make_predictions(n_rows=len(pairs), max_best=1, max_named=1)
        predictions.n_named[:] = 1
        predictions.renormalises[:] = options.traits.renormalises
        slots, pages = memory_for(weights, pairs)
        none = work.no_record
        for in_row, at, tokens in forced(weights, work, pairs, slots, pages, none, none):
            predictions.named["token"][: len(tokens), 0] = tokens
            predict(weights, len(tokens), slots, work, predictions)
            for row, (slot, t) in enumerate(zip(in_row, at, strict=True)):
                log_probs[slot][t] = predictions.named["log_prob"][row, 0]
        if options.first_id is not None:
            for (_, target_ids), found in zip(pairs, log_probs, strict=True):
                found[0] = 0 if target_ids[0] == options.first_id else -np.inf
        return log_probs

    def project(
        self, source_ids: Sequence[int], target_ids: Sequence[int], at: AttentionRow
    ) -> Projections:
        """§3.2.2: the vectors of one attention; see `Explanations.project`.

        Each layer overwrites the queries of the one before, so the pass stops after `at.layer`.
        """
        check_pair(source_ids, target_ids, self._config)
        kind, layer, row = at
        pair, weights, work = (source_ids, target_ids), self._weights, self._work
        n_source, n_target, width = len(source_ids), len(target_ids), weights.shape.d_model
        if kind == "encoder":
            encoder = weights.encoder._replace(n_layers=layer + 1)
            record = _encoder_record(weights._replace(encoder=encoder), work, source_ids)
            query, n_heads = work.query[row : row + 1, :width], encoder.n_heads
            keys, values = work.keys[:n_source, :width], work.values[:n_source, :width]
        else:
            weights = weights._replace(decoder=weights.decoder._replace(n_layers=layer + 1))
            slots, pages = memory_for(weights, [pair])
            of_self, of_cross = _decoder_records(weights, pair)
            is_self, n_heads = kind == "decoder", weights.decoder.n_heads
            record, queries = (of_self, work.self_query) if is_self else (of_cross, work.query)
            query = np.zeros((1, width), np.float32)
            for t, _ in enumerate(forced(weights, work, [pair], slots, pages, of_self, of_cross)):
                if t == row:
                    query = queries[:1, :width].copy()
            positions = slots.path[0, :n_target] if is_self else slots.source[0, :n_source]
            rows = layer * PAGE + positions
            keys, values = pages.keys[rows], pages.values[rows]
        query, keys, values = (_in_heads(vectors, n_heads) for vectors in (query, keys, values))
        n_columns = keys.shape[1]
        seen = np.arange(n_columns) <= (row if kind == "decoder" else n_columns)
        return Projections(query, keys, values, record[layer, :, row], seen)

    def activations(
        self, source_ids: Sequence[int], target_ids: Sequence[int], at: LayerRow
    ) -> list[Activation]:
        check_pair(source_ids, target_ids, self._config)
        if at.stack == "encoder":
            return encoder_activations(self._config, self._weights, self._work, source_ids, at)
        pair = source_ids, target_ids
        return decoder_activations(self._config, self._weights, self._work, pair, at)

    def trace(self, source_ids: Sequence[int], options: SearchOptions) -> SearchTrace:
        """The search of one sentence; see `Explanations.trace`. Raises `NumericalError`, too."""
        self.check(Job(0, tuple(source_ids), options))
        config, weights, n_source = self._config, self._weights, len(source_ids)
        longest = config.max_length
        limits = options.limits(n_source, longest)
        slots = make_slots(1, longest)
        pages = make_pages(weights, pages_needed(n_source, limits.width, limits.n_tokens))
        terms = make_terms(1, longest, self._edges)
        columns = search.start_sentence(
            weights, slots, 0, pages, terms, source_ids, options, limits
        )
        tracer = _Tracer(config, weights, options)
        new, interrupted, n_done = NewSentences.of([source_ids], [0]), np.ones(1, np.int64), 0
        while not n_done:
            n_done = search.run(
                weights, new, slots, pages, self._work, self._candidates, terms, 1, interrupted,
                1, 1,
            )  # fmt: skip
            tracer.record(slots, pages, self._work)
            new = NewSentences.of([], [])
        del columns  # which the slot referred to
        found = outcome_of_rows(finished_rows(slots, 0), config.eos_id, options, limits.n_tokens)
        if isinstance(found, Exception):
            raise found
        return SearchTrace(tracer.steps, found)


class _Tracer:
    """Records a search in slot 0 from its state after each token, without repeating its rule."""

    def __init__(self, config: TransformerConfig, weights: Weights, options: SearchOptions) -> None:
        self.steps: list[SearchStep] = []
        self._config = config
        self._weights = weights
        self._options = options
        self._predictions = make_predictions(MAX_BEAM, N_LIKELIEST, 1)
        self._predictions.n_best[:] = N_LIKELIEST
        self._predictions.renormalises[:] = options.traits.renormalises
        self._ids: list[tuple[int, ...]] = [()]  # of the beams at the start of the next step
        self._beams: Sequence[tuple[int | None, int | None, float]] = [(None, None, 0.0)]
        if (first := options.first_id) is not None:  # which is fed when the sentence joins
            self.steps = [SearchStep([Beam(None, None, 0.0, [NextToken(first, 0.0)])], [])]
            self._ids, self._beams = [(first,)], [(0, first, 0.0)]

    def record(self, slots: Slots, pages: Pages, work: Workspace) -> None:
        """Record a step; work.x still has the decoder's output for the beams before it."""
        beams = self._beams_with_likeliest(slots, work)
        if self._options.traits.forces_end and slots.length[0] == slots.limit[0]:
            end = [NextToken(self._config.eos_id, 0.0)]
            beams = [replace(beam, likeliest=end) for beam in beams]
        self.steps.append(SearchStep(beams, self._ended(slots)))
        before = int(slots.length[0]) - 1
        lane_of = {
            int(slots.page[0, lane]) * pages.rows + before % PAGE: lane
            for lane in range(len(self._ids))
        }
        live = range(int(slots.n_live[0]))
        parents = [lane_of[int(slots.path[lane, before])] for lane in live]
        tokens = [int(slots.latest[0, lane]) for lane in live]
        log_probs = [float(slots.live[0, lane]) for lane in live]
        self._beams = list(zip(parents, tokens, log_probs, strict=True))
        self._ids = [
            (*self._ids[parent], token) for parent, token in zip(parents, tokens, strict=True)
        ]

    def _beams_with_likeliest(self, slots: Slots, work: Workspace) -> list[Beam]:
        n_rows, predictions = len(self._beams), self._predictions
        predictions.unk_id[:] = slots.rule[0]["unk_id"]
        predict(self._weights, n_rows, slots, work, predictions)
        beams = []
        for beam, *row in zip(
            self._beams, predictions.tokens.tolist(), predictions.log_probs.tolist(), strict=False
        ):
            likeliest = [NextToken(*one) for one in zip(*row, strict=True) if np.isfinite(one[1])]
            beams.append(Beam(*beam, likeliest))
        return beams

    def _ended(self, slots: Slots) -> list[Ended]:
        length, limit = int(slots.length[0]), int(slots.limit[0])
        ended = []
        for rank in range(int(slots.beam[0])):
            if slots.score[0, rank] == -np.inf or slots.n_tokens[0, rank] != length:
                continue
            ids, log_probs = finished_row(slots, 0, rank)
            eos_id = self._config.eos_id
            hypothesis = finished_hypothesis(ids, log_probs, eos_id, self._options, limit)
            ended.append(Ended(self._ids.index(tuple(ids[:-1])), hypothesis))
        return ended


def _encoder_record(weights: Weights, work: Workspace, source_ids: Sequence[int]) -> Floats:
    """Encode a sentence; return the attention weights [layers, heads, S, S]."""
    n, encoder = len(source_ids), weights.encoder
    record = np.zeros((encoder.n_layers, encoder.n_heads, n, n), np.float32)
    ids, bounds, _ = NewSentences.of([source_ids], [0])
    encode(weights, ids, bounds, work, record)
    return record


def _decoder_records(weights: Weights, pair: IdPair) -> tuple[Floats, Floats]:
    """Return arrays for the weights of self-attention and cross-attention."""
    (n_source, n_target), decoder = map(len, pair), weights.decoder
    shape = decoder.n_layers, decoder.n_heads, n_target
    return np.zeros((*shape, n_target), np.float32), np.zeros((*shape, n_source), np.float32)


def _in_heads(rows: Floats, n_heads: int) -> Floats:
    """[N, D] → [H, N, Dh], a copy."""
    return rows.reshape(len(rows), n_heads, -1).transpose(1, 0, 2).copy()
