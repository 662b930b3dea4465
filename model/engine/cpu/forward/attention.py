"""§3.2: one query over a list of positions, anywhere in memory."""

from __future__ import annotations

import numpy as np

from model.engine.cpu.kernels.arrays import Floats, Ints
from model.engine.cpu.kernels.instructions import LANES
from model.engine.cpu.kernels.intrinsics import (
    dot_products,
    exponentiate,
    get,
    maximum,
    put,
    weighted_sum_16,
    weighted_sum_64,
)
from model.engine.cpu.kernels.jit import kernel


@kernel
def attend(
    n_heads: int, d_model: int, query: Floats, query_at: int, keys: Floats, values: Floats,
    base: int, stride: int, positions: Ints, positions_at: int, n_positions: int, weights: Floats,
    out: Floats, out_at: int,
) -> None:  # fmt: skip
    """One query [D] over n positions; position p has its key [D] at base + p · stride.

    Arrays are taken flat, from the given offsets. out [D] is softmax(q Kᵀ / √d_k) V; weights
    [H, > S] is filled with e^(q Kᵀ / √d_k − m) and, in its last column, one over their sum: see
    `record_weights`.
    """
    width = weights.shape[1]
    d_k = d_model // n_heads
    scale = np.float32(1 / np.sqrt(d_k))
    for head in range(n_heads):
        scores_at, first = head * width, head * d_k
        dot_products(query, query_at + first, keys, base + first, positions, positions_at, weights,
                     scores_at, n_positions, d_k, stride, scale)  # fmt: skip
    for head in range(n_heads):
        scores_at = head * width
        highest = maximum(weights, scores_at, n_positions)
        total = exponentiate(weights, scores_at, n_positions, highest)
        put(weights, scores_at + width - 1, np.float32(1) / total)
    for head in range(n_heads):
        weights_at, at, last = head * width, head * d_k, (head + 1) * d_k
        inverse = get(weights, weights_at + width - 1)
        while at + 4 * LANES <= last:
            weighted_sum_64(weights, weights_at, values, base + at, positions, positions_at, out,
                            out_at + at, n_positions, stride, inverse)  # fmt: skip
            at += 4 * LANES
        while at + LANES <= last:
            weighted_sum_16(weights, weights_at, values, base + at, positions, positions_at, out,
                            out_at + at, n_positions, stride, inverse)  # fmt: skip
            at += LANES
        for column in range(at, last):
            total = np.float32(0)
            for s in range(n_positions):
                value_at = base + get(positions, positions_at + s) * stride + column
                total += get(weights, weights_at + s) * get(values, value_at)
            put(out, out_at + column, total * inverse)


@kernel
def record_weights(
    n_heads: int, n_positions: int, weights: Floats, record: Floats, layer: int, row: int
) -> None:
    """record[layer, :, row, :n_positions] = the attention weights of the last `attend`."""
    for head in range(n_heads):
        inverse = weights[head, weights.shape[1] - 1]
        for s in range(n_positions):
            record[layer, head, row, s] = weights[head, s] * inverse
