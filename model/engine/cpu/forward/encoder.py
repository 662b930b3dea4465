"""§3.1, figure 1 left, over the tokens of many sentences side by side, without any padding."""

from __future__ import annotations

from model.engine.cpu.forward.attention import attend, record_weights
from model.engine.cpu.forward.weights import Shape, Weights
from model.engine.cpu.forward.workspace import Workspace
from model.engine.cpu.kernels.elementary import RELU, Norm, activate, normalise
from model.engine.cpu.kernels.jit import kernel
from model.engine.cpu.kernels.linear import NO_FLOOR, RELU_FLOOR, prepare, project, project_prepared
from model.engine.cpu.kernels.packing import Linear
from model.engine.cpu.kernels.types import Floats, Ints


@kernel
def encode(
    weights: Weights, ids: Ints, bounds: Ints, work: Workspace,
    record: Floats,
) -> None:  # fmt: skip
    """Sentences' ids [N], one behind the other → work.x[:N].

    Sentence i goes from bounds[i] to before bounds[i + 1].
    record [layers, H, S, S] is filled with the attention weights of one sentence, or is empty.
    """
    shape, encoder, n_rows = weights.shape, weights.encoder, len(ids)
    for sentence in range(len(bounds) - 1):
        start, end = bounds[sentence], bounds[sentence + 1]
        for row in range(start, end):
            embed(weights.source_embedding, ids[row], weights.positions, row - start, shape,
                  work.x, row)  # fmt: skip
    for layer in range(encoder.n_layers):
        source = before_sublayer(encoder.attention_norm, layer, n_rows, shape, work)
        prepare(source, n_rows, encoder.qkv, work.scratch)
        for part, out in enumerate((work.query, work.keys, work.values)):
            project_prepared(source, n_rows, encoder.qkv, 3 * layer + part, NO_FLOOR, False,
                             work.scratch, out)  # fmt: skip
        for sentence in range(len(bounds) - 1):
            start, end = bounds[sentence], bounds[sentence + 1]
            _attend_within(start, end, encoder.n_heads, shape.d_model, work, layer, record)
        project(work.context, n_rows, encoder.attention_output, layer, NO_FLOOR, True,
                work.scratch, work.x)  # fmt: skip
        after_sublayer(encoder.attention_norm, layer, n_rows, shape, work)
        source = before_sublayer(encoder.feed_forward_norm, layer, n_rows, shape, work)
        feed_forward(source, n_rows, encoder.w_1, encoder.w_2, layer, shape, work)
        after_sublayer(encoder.feed_forward_norm, layer, n_rows, shape, work)
    if shape.pre_norm:
        normalise(work.x, n_rows, encoder.norm, 0, work.x)


@kernel
def before_sublayer(norm: Norm, layer: int, n_rows: int, shape: Shape, work: Workspace) -> Floats:
    """What a sub-layer reads: LayerNorm(x) in work.normal, or in post-norm work.x as it is."""
    if shape.pre_norm:
        normalise(work.x, n_rows, norm, layer, work.normal)
        return work.normal
    return work.x


@kernel
def after_sublayer(norm: Norm, layer: int, n_rows: int, shape: Shape, work: Workspace) -> None:
    """work.x, to which a sub-layer has added its output, becomes LayerNorm(x) in post-norm."""
    if not shape.pre_norm:
        normalise(work.x, n_rows, norm, layer, work.x)


@kernel
def embed(
    table: Floats, token: int, positions: Floats, position: int, shape: Shape, out: Floats, row: int
) -> None:
    """§3.4, §3.5: out[row] = the token's embedding, scaled, plus its position's sinusoid."""
    for i in range(shape.d_model):
        out[row, i] = table[token, i] * shape.embedding_scale + positions[position, i]
    # Int8 reads on to a multiple of 4, where an earlier row that was NaN would have left NaN.
    for i in range(shape.d_model, out.shape[1]):
        out[row, i] = 0


@kernel
def feed_forward(
    x: Floats, n_rows: int, w_1: Linear, w_2: Linear, layer: int, shape: Shape, work: Workspace
) -> None:
    """§3.3: work.x += FFN(x)."""
    floor = RELU_FLOOR if shape.activation == RELU else NO_FLOOR
    project(x, n_rows, w_1, layer, floor, False, work.scratch, work.inner)
    activate(work.inner, n_rows, w_1.bias.shape[1], shape.activation)
    project(work.inner, n_rows, w_2, layer, NO_FLOOR, True, work.scratch, work.x)


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
