"""The vectors of one position on its way through figure 1, from the kernels that translate.

Each layer runs on its own, from the state of the layer before it. The state is kept here: the
kernels normalise theirs after the last layer, and add to it in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from model.engine.cpu.forward.attention import attend
from model.engine.cpu.forward.decoder import decode
from model.engine.cpu.forward.encoder import encode
from model.engine.cpu.forward.slots import PAGE, Pages, Slots
from model.engine.cpu.forward.weights import CrossAttention, Embedding, Shape, Stack, Weights
from model.engine.cpu.forward.workspace import Workspace
from model.engine.cpu.kernels.arrays import Floats
from model.engine.cpu.kernels.elementary import Norm, normalise
from model.engine.cpu.kernels.linear import NO_FLOOR, project
from model.engine.cpu.kernels.packing import Linear
from model.engine.cpu.teacher_forcing import forced, memory_for
from model.engine.explanations import Activation, IdPair, LayerRow
from model.transformer.config import TransformerConfig

Array = TypeVar("Array", bound=NDArray[Any])


class _States:
    """The states [R, D padded] of some rows between two sub-layers; those of one are recorded."""

    def __init__(self, shape: Shape, work: Workspace, x: Floats, row: int) -> None:
        self.x = x
        self.found: list[Activation] = []
        self.is_recording = True
        self._shape = shape
        self._work = work
        self._row = row
        self._scratch = np.zeros_like(x)

    def record(self, sublayer: str, name: str, rows: Floats, width: int | None = None) -> None:
        """Record the row, if this layer is the one to show; `width` is D by default."""
        self.record_row(sublayer, name, rows[self._row, : width or self._shape.d_model])

    def record_row(self, sublayer: str, name: str, vector: Floats) -> None:
        if self.is_recording:
            self.found.append(Activation(sublayer, name, vector.copy()))

    def enter(self, is_recording: bool) -> None:
        """A layer begins."""
        self.is_recording = is_recording
        self.record("stack", "input", self.x)

    def begin(self, sublayer: str, norm: Norm, layer: int) -> None:
        """In pre-norm: record the normalised input of a sub-layer."""
        if self._shape.pre_norm and self.is_recording:
            normalise(self.x, len(self.x), norm, layer, self._scratch)
            self.record(sublayer, "norm", self._scratch)

    def add_projected(self, sublayer: str, inputs: Floats, linear: Linear, layer: int) -> None:
        """x += inputs W + b, the output of a sub-layer."""
        n_rows, scratch = len(self.x), self._work.scratch
        if self.is_recording:
            project(inputs, n_rows, linear, layer, NO_FLOOR, False, scratch, self._scratch)
            self.record(sublayer, "output", self._scratch)
        project(inputs, n_rows, linear, layer, NO_FLOOR, True, scratch, self.x)
        self.record(sublayer, "residual", self.x)

    def end(self, sublayer: str, norm: Norm, layer: int) -> None:
        """In post-norm: x becomes LayerNorm(x)."""
        if not self._shape.pre_norm:
            normalise(self.x, len(self.x), norm, layer, self.x)
            self.record(sublayer, "norm", self.x)

    def feed_forward(self, stack: Stack, layer: int, d_ff: int) -> None:
        """§3.3, from what the kernels left in `work.inner`."""
        norm = stack.feed_forward_norm
        self.begin("feed_forward", norm, layer)
        self.record("feed_forward", "hidden", self._work.inner, d_ff)
        self.add_projected("feed_forward", self._work.inner, stack.w_2, layer)
        self.end("feed_forward", norm, layer)

    def finish(self, norm: Norm) -> None:
        """The norm of a pre-norm stack."""
        self.is_recording = True
        if self._shape.pre_norm:
            normalise(self.x, len(self.x), norm, 0, self.x)
            self.record("stack", "norm", self.x)


def encoder_activations(
    config: TransformerConfig, weights: Weights, work: Workspace, source_ids: Sequence[int],
    at: LayerRow,
) -> list[Activation]:  # fmt: skip
    """The vectors of a source token; see `Explanations.activations`."""
    encoder, n_rows = weights.encoder, len(source_ids)
    states = _embedded(weights, weights.source_embedding, work, source_ids, 0, at.row)
    for layer in range(encoder.n_layers):
        states.enter(layer == at.layer)
        _encode_layer(weights, states.x, layer, work)
        norm = encoder.attention_norm
        states.begin("self_attention", norm, layer)
        for name, rows in (("query", work.query), ("key", work.keys), ("value", work.values)):
            states.record("self_attention", name, rows)
        states.record("self_attention", "context", work.context)
        states.add_projected("self_attention", work.context[:n_rows], encoder.output, layer)
        states.end("self_attention", norm, layer)
        states.feed_forward(encoder, layer, config.d_ff)
    states.finish(encoder.norm)
    return states.found


def decoder_activations(
    config: TransformerConfig, weights: Weights, work: Workspace, pair: IdPair, at: LayerRow
) -> list[Activation]:
    """The vectors of a position of the target; see `Explanations.activations`."""
    decoder, cross = weights.decoder, weights.cross
    slots, pages = memory_for(weights, [pair])
    none = work.no_record
    for t, _ in enumerate(forced(weights, work, [pair], slots, pages, none, none)):
        if t == at.row:
            break
    fed = weights.shape.start_id, *pair[1][:-1]
    table = weights.target_embedding
    states = _embedded(weights, table, work, fed[at.row : at.row + 1], at.row, 0)
    for layer in range(decoder.n_layers):
        states.enter(layer == at.layer)
        _decode_layer(weights, states.x, layer, slots, pages, work)
        if decoder.is_recurrent:
            _recurrence(states, decoder, layer, slots, pages, work)
        else:
            _self_attention(states, decoder, layer, slots, pages, work)
        states.begin("cross_attention", cross.norm, layer)
        states.record("cross_attention", "query", work.query)
        states.record("cross_attention", "context", work.context)
        states.add_projected("cross_attention", work.context[:1], cross.output, layer)
        states.end("cross_attention", cross.norm, layer)
        states.feed_forward(decoder, layer, config.d_ff_of_decoder)
    states.finish(decoder.norm)
    logits = np.zeros((1, weights.output.bias.shape[1]), np.float32)
    project(states.x, 1, weights.output, 0, NO_FLOOR, False, work.scratch, logits)
    states.record_row("output", "logits", logits[0, : config.target_vocab_size])
    return states.found


def _embedded(
    weights: Weights, table: Embedding, work: Workspace, ids: Sequence[int], first: int, row: int
) -> _States:
    """§3.4, §3.5, as the kernel `embed` computes them; the first id is at position `first`."""
    shape, tokens = weights.shape, list(ids)
    values = table.values[tokens] if not len(table.codes) else table.codes[tokens] * table.scale
    positions = weights.positions[first : first + len(tokens)]
    x = np.zeros((len(tokens), work.x.shape[1]), np.float32)
    x[:, : shape.d_model] = values * shape.embedding_scale + positions
    states = _States(shape, work, x, row)
    for name, rows in (("token", values), ("position", positions), ("sum", x)):
        states.record("embedding", name, rows)
    return states


def _encode_layer(weights: Weights, x: Floats, layer: int, work: Workspace) -> None:
    """Run one encoder layer on states, whose vectors it leaves in the workspace."""
    width, n_rows = weights.shape.d_model, len(x)
    table = weights.source_embedding
    # A table of the states, in which row i has id i, is embedded as they are.
    states = Embedding(_like(table.values, x[:, :width]), _like(table.codes), table.scale)
    one = weights._replace(
        shape=weights.shape._replace(embedding_scale=np.float32(1)),
        source_embedding=states,
        positions=_like(weights.positions, np.zeros((n_rows, width), np.float32)),
        encoder=_from_layer(weights.encoder, layer),
    )
    bounds = np.array([0, n_rows], np.int64)
    encode(one, np.arange(n_rows, dtype=np.int64), bounds, work, work.no_record)


def _decode_layer(
    weights: Weights, x: Floats, layer: int, slots: Slots, pages: Pages, work: Workspace
) -> None:
    """Run one decoder layer on the state of the first row, again, at its position."""
    work.x[:1] = x
    decoder, cross = _from_layer(weights.decoder, layer), weights.cross
    one = weights._replace(
        decoder=decoder,
        cross=CrossAttention(
            _linear_from(cross.query, layer),
            _linear_from(cross.memory_kv, 2 * layer),
            _linear_from(cross.output, layer),
            _norm_from(cross.norm, layer),
        ),
    )
    first = layer * PAGE
    of_layer = pages._replace(keys=pages.keys[first:], values=pages.values[first:])
    decode(one, 1, slots, of_layer, work, work.no_record, work.no_record)


def _self_attention(
    states: _States, decoder: Stack, layer: int, slots: Slots, pages: Pages, work: Workspace
) -> None:
    """§3.2.3, masked; the decoder's attention to the source has overwritten the context."""
    width, t, first = pages.keys.shape[1], int(slots.length[0]), layer * PAGE
    at = first + slots.path[0, t]
    context = np.zeros_like(work.context[:1])
    attend(decoder.n_heads, width, work.self_query, 0, pages.keys, pages.values, first * width,
           width, slots.path, 0, t + 1, work.attention, context, 0)  # fmt: skip
    states.begin("self_attention", decoder.attention_norm, layer)
    states.record("self_attention", "query", work.self_query)
    states.record("self_attention", "key", pages.keys[at : at + 1])
    states.record("self_attention", "value", pages.values[at : at + 1])
    states.record("self_attention", "context", context)
    states.add_projected("self_attention", context, decoder.output, layer)
    states.end("self_attention", decoder.attention_norm, layer)


def _recurrence(
    states: _States, decoder: Stack, layer: int, slots: Slots, pages: Pages, work: Workspace
) -> None:
    """The SSRU's x̃_t, f_t, c_t and max(0, c_t); see `model.transformer.ssru`."""
    width = pages.values.shape[1]
    cell = pages.values[layer * PAGE + slots.path[0, int(slots.length[0])]][None]
    forget = 1 / (1 + np.exp(-work.keys[:1].astype(np.float64)))
    output = np.maximum(cell, 0)
    states.begin("ssru", decoder.attention_norm, layer)
    states.record("ssru", "candidate", work.values)
    states.record("ssru", "forget", forget.astype(np.float32))
    states.record("ssru", "cell", cell)
    states.record("ssru", "output", output)
    states.x[:, :width] += output
    states.record("ssru", "residual", states.x)
    states.end("ssru", decoder.attention_norm, layer)


def _from_layer(stack: Stack, layer: int) -> Stack:
    """One layer of a stack, as its first."""
    n_maps = 2 if stack.is_recurrent else 3
    return stack._replace(
        n_layers=1,
        qkv=_linear_from(stack.qkv, n_maps * layer),
        output=_linear_from(stack.output, layer),
        attention_norm=_norm_from(stack.attention_norm, layer),
        w_1=_linear_from(stack.w_1, layer),
        w_2=_linear_from(stack.w_2, layer),
        feed_forward_norm=_norm_from(stack.feed_forward_norm, layer),
    )


def _linear_from(linear: Linear, layer: int) -> Linear:
    weight, scale, bias = linear.weight[layer:], linear.scale[layer:], linear.bias[layer:]
    return Linear(weight, scale, bias, linear.inputs, linear.following[layer:])


def _norm_from(norm: Norm, layer: int) -> Norm:
    return Norm(norm.gain[layer:], norm.bias[layer:], norm.epsilon)


def _like(array: Array, values: Floats | None = None) -> Array:
    """A copy of values, or no rows, of an array's type, for which kernels are compiled."""
    found: Array = np.array(array[:0] if values is None else values, array.dtype, order="C")  # type: ignore[assignment]
    found.flags.writeable = array.flags.writeable
    return found
