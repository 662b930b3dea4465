"""The memory of a step, allocated once for each engine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.kernels.arrays import Floats, Ints, lazy_zeros
from model.engine.cpu.kernels.instructions import COLUMNS, LANES
from model.engine.cpu.kernels.linear import Scratch, make_scratch
from model.engine.cpu.kernels.packing import padded
from model.engine.cpu.kernels.work_queue import WorkQueue

LOGIT_ROWS = 16
"""Rows whose logits of a panel are kept at once: with its weights, they fit the cache."""

SHARED_ROWS = 8
"""Rows whose logits are all kept, so that two threads can share their product."""


class Workspace(NamedTuple):
    """For up to R rows: tokens of sources being encoded, or hypotheses being decoded.

    x, normal, query, keys, values, context  [R, D padded]
    self_query         [R, D padded], of the decoder's self-attention, kept for explanations
    inner              [R, d_ff padded], between the two maps of the feed-forward network
    attention          [H, > S padded], of one row
    no_record          passed where attention weights are not recorded
    row_slot, row_lane [R], the hypothesis of each row
    row_numbers        [1, R], 0 … R − 1
    logits             [16, 64], see `LOGIT_ROWS`
    all_logits         [8, V padded], see `SHARED_ROWS`
    highest, totals    [R] and [R, 16], largest logit m so far and, in 16 parts, Σ e^(logit − m)
    """

    x: Floats
    normal: Floats
    query: Floats
    self_query: Floats
    keys: Floats
    values: Floats
    context: Floats
    inner: Floats
    attention: Floats
    no_record: Floats
    scratch: Scratch
    row_slot: Ints
    row_lane: Ints
    row_numbers: Ints
    logits: Floats
    all_logits: Floats
    highest: Floats
    totals: Floats


def make_workspace(weights: Weights, n_rows: int, queue: WorkQueue | None = None) -> Workspace:
    """For at most `n_rows` rows."""
    encoder, decoder = weights.encoder, weights.decoder
    width = padded(weights.shape.d_model, COLUMNS)
    inner = max(encoder.w_1.bias.shape[1], decoder.w_1.bias.shape[1])
    longest = padded(len(weights.positions), LANES) + LANES

    def floats(*shape: int) -> Floats:
        return np.zeros(shape, np.float32)

    return Workspace(
        x=floats(n_rows, width),
        normal=floats(n_rows, width),
        query=floats(n_rows, width),
        self_query=floats(n_rows, width),
        keys=floats(n_rows, width),
        values=floats(n_rows, width),
        context=floats(n_rows, width),
        inner=floats(n_rows, inner),
        attention=floats(max(encoder.n_heads, decoder.n_heads), longest),
        no_record=floats(0, 0, 0, 0),
        scratch=make_scratch(n_rows, max(width, inner), queue),
        row_slot=np.zeros(n_rows, np.int64),
        row_lane=np.zeros(n_rows, np.int64),
        row_numbers=np.arange(n_rows, dtype=np.int64)[None],
        logits=floats(LOGIT_ROWS, COLUMNS),
        all_logits=lazy_zeros((SHARED_ROWS, weights.output.bias.shape[1]), np.float32),
        highest=floats(n_rows),
        totals=floats(n_rows, LANES),
    )
