"""§3.2.2: the queries, keys and values of one attention, computed by the kernels that translate.

Each layer overwrites those of the layer before, so the pass stops after the requested layer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from model.engine.cpu.forward.encoder import encode
from model.engine.cpu.forward.explanation import forced, memory_for
from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.forward.workspace import Workspace
from model.engine.cpu.kernels.types import Floats
from model.engine.explanations import AttentionRow, Projections


def project(
    weights: Weights, work: Workspace, pair: tuple[Sequence[int], Sequence[int]], at: AttentionRow
) -> Projections:
    """Project a pair of source and target between two steps, in `work`; see `Engine.project`."""
    if at.kind == "encoder":
        return _of_encoder(weights, work, pair[0], at)
    return _of_decoder(weights, work, pair, at)


def _of_encoder(
    weights: Weights, work: Workspace, source_ids: Sequence[int], at: AttentionRow
) -> Projections:
    _, layer, row = at
    n_source, width = len(source_ids), weights.shape.d_model
    encoder = weights.encoder._replace(n_layers=layer + 1)
    record = np.zeros((layer + 1, encoder.n_heads, n_source, n_source), np.float32)
    ids, bounds = np.array(source_ids, np.int64), np.array([0, n_source], np.int64)
    encode(weights._replace(encoder=encoder), ids, bounds, work, record)
    return Projections(
        _in_heads(work.query[row : row + 1, :width], encoder.n_heads),
        _in_heads(work.keys[:n_source, :width], encoder.n_heads),
        _in_heads(work.values[:n_source, :width], encoder.n_heads),
        weights=record[layer, :, row],
        seen=np.ones(n_source, np.bool_),
    )


def _of_decoder(
    weights: Weights, work: Workspace, pair: tuple[Sequence[int], Sequence[int]], at: AttentionRow
) -> Projections:
    kind, layer, row = at
    source_ids, target_ids = pair
    n_source, n_target, width = len(source_ids), len(target_ids), weights.shape.d_model
    decoder = weights.decoder._replace(n_layers=layer + 1)
    of_self = np.zeros((layer + 1, decoder.n_heads, n_target, n_target), np.float32)
    of_cross = np.zeros((layer + 1, decoder.n_heads, n_target, n_source), np.float32)
    slots, pages = memory_for(weights, n_source, n_target)
    steps = forced(
        weights._replace(decoder=decoder), work, source_ids, target_ids, slots, pages,
        of_self, of_cross,
    )  # fmt: skip
    queries = work.self_query if kind == "decoder" else work.query
    query = np.zeros((1, width), np.float32)
    for t, _ in enumerate(steps):
        if t == row:
            query = queries[:1, :width].copy()
    if kind == "decoder":
        positions, record = slots.path[0, :n_target], of_self
        seen = np.arange(n_target) <= row
    else:
        positions, record = slots.source[0, :n_source], of_cross
        seen = np.ones(n_source, np.bool_)
    rows = layer * len(pages.token) + positions
    return Projections(
        _in_heads(query, decoder.n_heads),
        _in_heads(pages.keys[rows], decoder.n_heads),
        _in_heads(pages.values[rows], decoder.n_heads),
        weights=record[layer, :, row],
        seen=seen,
    )


def _in_heads(rows: Floats, n_heads: int) -> Floats:
    """[N, D] → [H, N, Dh], a copy."""
    return rows.reshape(len(rows), n_heads, -1).transpose(1, 0, 2).copy()
