"""§3.2: one query over a list of positions, wherever in memory those are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from model.engine.cpu.elementary import exponential
from model.engine.cpu.jit import reordered_kernel
from model.engine.cpu.linear import Floats

LANES = 16
"""Scores are padded to a multiple with −∞, so that the softmax needs no remainder loop."""


@reordered_kernel
def attend(
    query: Floats, keys: Floats, values: Floats, positions: NDArray[np.int32], weights: Floats,
    out: Floats,
) -> None:  # fmt: skip
    """query [D] over the keys and values […, D] at `positions` [S] → out [D].

    weights [H, ≥ S padded] is filled with softmax(q Kᵀ / √d_k), zeros behind it.
    """
    n_heads, n_positions = len(weights), len(positions)
    d_k = len(out) // n_heads
    n_blocks = (n_positions + LANES - 1) // LANES
    scale = np.float32(1 / np.sqrt(d_k))
    for s in range(n_positions):
        key = keys[positions[s]]
        for head in range(n_heads):
            one_query, one_key = query[head * d_k :][:d_k], key[head * d_k :][:d_k]
            product = np.float32(0)
            for i in range(d_k):
                product += one_query[i] * one_key[i]
            weights[head, s] = product * scale
    for head in range(n_heads):
        weights[head, n_positions : n_blocks * LANES] = -np.inf
        _softmax(weights[head], n_blocks)
    for i in range(len(out)):
        out[i] = np.float32(0)
    for s in range(n_positions):
        value = values[positions[s]]
        for head in range(n_heads):
            one_out, one_value = out[head * d_k :][:d_k], value[head * d_k :][:d_k]
            weight = weights[head, s]
            for i in range(d_k):
                one_out[i] += weight * one_value[i]


@reordered_kernel
def _softmax(scores: Floats, n_blocks: int) -> None:
    """In place, over whole blocks of 16."""
    highest = np.float32(-np.inf)
    for s in range(n_blocks * LANES):
        highest = max(highest, scores[s])
    total = np.float32(0)
    for block in range(n_blocks):
        sixteen = scores[block * LANES :][:LANES]
        for i in range(LANES):
            power = exponential(sixteen[i] - highest)
            sixteen[i] = power
            total += power
    inverse = np.float32(1) / total
    for s in range(n_blocks * LANES):
        scores[s] *= inverse
