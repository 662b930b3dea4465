"""§3.1, figure 1 left, over the tokens of many sentences side by side, without padding."""

from __future__ import annotations

import numpy as np

from model.engine.cpu.forward.attention import attend, record_weights
from model.engine.cpu.forward.weights import Embedding, Shape, Stack, Weights
from model.engine.cpu.forward.workspace import Workspace
from model.engine.cpu.kernels.arrays import Floats, Ints
from model.engine.cpu.kernels.elementary import RELU, Norm, activate, normalise
from model.engine.cpu.kernels.intrinsics import prepare
from model.engine.cpu.kernels.jit import kernel
from model.engine.cpu.kernels.linear import NO_FLOOR, RELU_FLOOR, project, project_prepared
from model.engine.cpu.kernels.packing import Linear


@kernel
def encode(weights: Weights, ids: Ints, bounds: Ints, work: Workspace, record: Floats) -> None:
    """Concatenated ids [N] of sentences → work.x[:N].

    Sentence i is ids[bounds[i] : bounds[i + 1]].
    record [layers, H, S, S] is filled with the attention weights of one sentence, or is empty.
    """
    shape, encoder, n_rows = weights.shape, weights.encoder, len(ids)
    for sentence in range(len(bounds) - 1):
        start, end = bounds[sentence], bounds[sentence + 1]
        for row in range(start, end):
            embed(weights.source_embedding, ids[row], weights.positions, row - start, shape,
                  work.x, row)  # fmt: skip
    for layer in range(encoder.n_layers):
        project_attention(encoder, layer, n_rows, shape, work, work.query)
        for sentence in range(len(bounds) - 1):
            start, end = bounds[sentence], bounds[sentence + 1]
            _attend_within(start, end, encoder.n_heads, shape.d_model, work, layer, record)
        add_attention(encoder.output, encoder.attention_norm, layer, n_rows, shape, work)
        add_feed_forward(encoder, layer, n_rows, shape, work)
    if shape.pre_norm:
        normalise(work.x, n_rows, encoder.norm, 0, work.x)


@kernel
def before_sublayer(norm: Norm, layer: int, n_rows: int, shape: Shape, work: Workspace) -> Floats:
    """The input of a sub-layer: LayerNorm(x) in work.normal, or in post-norm work.x itself."""
    if shape.pre_norm:
        normalise(work.x, n_rows, norm, layer, work.normal)
        return work.normal
    return work.x


@kernel
def after_sublayer(norm: Norm, layer: int, n_rows: int, shape: Shape, work: Workspace) -> None:
    """In post-norm: work.x, to which a sub-layer has added its output, becomes LayerNorm(x)."""
    if not shape.pre_norm:
        normalise(work.x, n_rows, norm, layer, work.x)


@kernel
def project_attention(
    stack: Stack, layer: int, n_rows: int, shape: Shape, work: Workspace, query: Floats
) -> None:
    """work.x → queries, keys and values of the self-attention: query, work.keys, work.values."""
    source = before_sublayer(stack.attention_norm, layer, n_rows, shape, work)
    prepare(source, n_rows, stack.qkv, work.scratch)
    for part, out in enumerate((query, work.keys, work.values)):
        project_prepared(source, n_rows, stack.qkv, 3 * layer + part, NO_FLOOR, False,
                         work.scratch, out)  # fmt: skip


@kernel
def add_attention(
    output: Linear, norm: Norm, layer: int, n_rows: int, shape: Shape, work: Workspace
) -> None:
    """work.x += work.context W^O, the end of an attention sub-layer."""
    project(work.context, n_rows, output, layer, NO_FLOOR, True, work.scratch, work.x)
    after_sublayer(norm, layer, n_rows, shape, work)


@kernel
def add_feed_forward(stack: Stack, layer: int, n_rows: int, shape: Shape, work: Workspace) -> None:
    """§3.3: work.x += FFN(x), the whole sub-layer."""
    norm, w_1 = stack.feed_forward_norm, stack.w_1
    source = before_sublayer(norm, layer, n_rows, shape, work)
    floor = RELU_FLOOR if shape.activation == RELU else NO_FLOOR
    project(source, n_rows, w_1, layer, floor, False, work.scratch, work.inner)
    activate(work.inner, n_rows, w_1.bias.shape[1], shape.activation)
    project(work.inner, n_rows, stack.w_2, layer, NO_FLOOR, True, work.scratch, work.x)
    after_sublayer(norm, layer, n_rows, shape, work)


@kernel
def embed(
    table: Embedding, token: int, positions: Floats, position: int, shape: Shape, out: Floats,
    row: int,
) -> None:  # fmt: skip
    """§3.4, §3.5: out[row] = the token's embedding, scaled, plus its position's sinusoid."""
    scale = shape.embedding_scale
    if len(table.codes):
        for i in range(shape.d_model):
            value = np.float32(table.codes[token, i]) * table.scale
            out[row, i] = value * scale + positions[position, i]
    else:
        for i in range(shape.d_model):
            out[row, i] = table.values[token, i] * scale + positions[position, i]
    # Int8 reads up to a multiple of 4, where an earlier row with NaN would have left NaN.
    for i in range(shape.d_model, out.shape[1]):
        out[row, i] = 0


@kernel
def _attend_within(
    start: int, end: int, n_heads: int, d_model: int, work: Workspace, layer: int, record: Floats
) -> None:
    """Every token of a sentence over all of them: work.query, keys, values → work.context."""
    stride = work.query.shape[1]
    for row in range(start, end):
        attend(n_heads, d_model, work.query, row * stride, work.keys, work.values, 0, stride,
               work.row_numbers, start, end - start, work.attention, work.context,
               row * stride)  # fmt: skip
        if len(record):
            record_weights(n_heads, end - start, work.attention, record, layer, row - start)
