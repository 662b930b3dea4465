"""Attention weights of one teacher-forced pass, from the kernels and weights that translate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from model.engine.cpu.decoder import decode, gather, join
from model.engine.cpu.encoder import encode
from model.engine.cpu.slots import make_pages, make_slots, occupy, pages_needed
from model.engine.cpu.types import Floats
from model.engine.cpu.weights import Weights
from model.engine.cpu.workspace import Workspace
from model.engine.protocol import AttentionKind


def explain(
    weights: Weights, work: Workspace, source_ids: Sequence[int], target_ids: Sequence[int],
    kind: AttentionKind,
) -> Floats:  # fmt: skip
    """[layers, heads, T, S]; see `Engine.explain`. Between two steps, since it uses `work`."""
    ids, bounds = np.array(source_ids, np.int64), np.array([0, len(source_ids)], np.int64)
    n_source, n_target = len(source_ids), len(target_ids)
    if kind == "encoder":
        encoder = weights.encoder
        record = np.zeros((encoder.n_layers, encoder.n_heads, n_source, n_source), np.float32)
        encode(weights, ids, bounds, work, record)
        return record
    slots = make_slots(1, max(n_source, n_target))
    pages = make_pages(weights, pages_needed(n_source, 1, n_target))
    occupy(slots, 0, pages, n_source, 1, 1, n_target, 0.0, weights.shape.start_id)
    join(weights, ids, bounds, np.zeros(1, np.int64), slots, pages, work)
    decoder = weights.decoder
    of_self = np.zeros((decoder.n_layers, decoder.n_heads, n_target, n_target), np.float32)
    of_cross = np.zeros((decoder.n_layers, decoder.n_heads, n_target, n_source), np.float32)
    for length, token in enumerate(target_ids, start=1):
        n_rows = gather(weights, slots, pages, work)
        decode(weights, n_rows, slots, pages, work, of_self, of_cross)
        slots.length[0] = length
        slots.latest[0, 0] = token
    return of_self if kind == "decoder" else of_cross
