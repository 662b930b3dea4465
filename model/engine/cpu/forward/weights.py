"""A checkpoint's tensors, packed for the kernels and shared by all engines of a process."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.engine.cpu.kernels.arrays import Floats
from model.engine.cpu.kernels.elementary import GELU, QUICK_GELU, RELU, SWISH, Norm
from model.engine.cpu.kernels.packing import Codes, Linear, chain, pack_float32, pack_int8
from model.transformer import parameter_names as names
from model.transformer.config import Activation, TransformerConfig
from model.transformer.positions import sinusoidal_positions

Precision = Literal["int8", "float32"]
Tensors = Mapping[str, Floats]

_ACTIVATIONS: dict[Activation, int] = {
    "relu": RELU, "gelu": GELU, "swish": SWISH, "quick_gelu": QUICK_GELU,
}  # fmt: skip


class Shape(NamedTuple):
    """The part of the configuration that the kernels need."""

    d_model: int
    pre_norm: bool
    activation: int
    tie_output: bool
    pad_id: int
    eos_id: int
    start_id: int
    embedding_scale: np.float32


class Stack(NamedTuple):
    """The first sub-layer and the feed-forward network of all layers of the encoder or the decoder.

    qkv holds queries, keys and values of layer 0, of layer 1, … With `is_recurrent`, it holds W and
    W_f of the layers' SSRUs, and `output` nothing.
    """

    n_layers: int
    n_heads: int
    is_recurrent: bool
    qkv: Linear
    output: Linear
    attention_norm: Norm
    w_1: Linear
    w_2: Linear
    feed_forward_norm: Norm
    norm: Norm


class CrossAttention(NamedTuple):
    """§3.2.3, of all decoder layers; memory_kv holds keys and values of layer 0, of layer 1, …"""

    query: Linear
    memory_kv: Linear
    output: Linear
    norm: Norm


class Embedding(NamedTuple):
    """A table [V, D] in float32, or else as int8 codes whose values are multiples of the scale.

    The other array is empty.
    """

    values: Floats
    codes: NDArray[np.int8]
    scale: np.float32


class Weights(NamedTuple):
    """A whole model; positions [max_length, D]."""

    shape: Shape
    source_embedding: Embedding
    target_embedding: Embedding
    positions: Floats
    encoder: Stack
    decoder: Stack
    cross: CrossAttention
    output: Linear


def pack(
    config: TransformerConfig,
    tensors: Tensors,
    precision: Precision,
    quantized: Mapping[str, Codes] = MappingProxyType({}),
) -> Weights:
    """Pack a `Transformer`'s parameters by name, in float32; shared ones may be present once.

    In int8, matrices that are stored in 8 bits keep their codes.
    """
    packer = _Packer(config, tensors, precision, quantized)
    source = packer.embedding(names.SOURCE_EMBEDDING)
    target = source if config.share_embeddings else packer.embedding(names.TARGET_EMBEDDING)
    # A tied embedding is mapped once more, so that not all pages of the table stay in memory.
    target_name = names.SOURCE_EMBEDDING if config.share_embeddings else names.TARGET_EMBEDDING
    output = f"{target_name if config.tie_output else names.OUTPUT}.weight"
    bias = tensors.get(f"{names.OUTPUT}.bias", np.zeros(config.target_vocab_size, np.float32))
    weights = Weights(
        shape=Shape(
            config.d_model,
            config.norm_order == "pre",
            _ACTIVATIONS[config.activation],
            config.tie_output,
            config.pad_id,
            config.eos_id,
            config.start_id,
            np.float32(math.sqrt(config.d_model) if config.scale_embedding else 1.0),
        ),
        source_embedding=source,
        target_embedding=target,
        positions=sinusoidal_positions(
            config.max_length, config.d_model, config.position_layout, config.position_offset
        ),
        encoder=packer.stack(names.ENCODER, config.n_encoder_layers, config.n_heads),
        decoder=packer.stack(names.DECODER, config.n_decoder_layers, config.n_heads_of_decoder),
        cross=packer.cross_attention(config.n_decoder_layers),
        # Rows that pad the vocabulary get no probability.
        output=packer.pack([output], [bias], -np.inf),
    )
    chain(_order(weights))
    return weights


def _order(weights: Weights) -> list[tuple[Linear, int]]:
    """Return all linear maps in the order of a sentence's first step, and the first of the next."""
    encoder, decoder, cross = weights.encoder, weights.decoder, weights.cross
    maps: list[tuple[Linear, int]] = []
    for layer in range(encoder.n_layers):
        maps += [*_attention(encoder, layer), (encoder.w_1, layer), (encoder.w_2, layer)]
    maps += [(cross.memory_kv, n) for n in range(2 * decoder.n_layers)]
    for layer in range(decoder.n_layers):
        maps += [
            *_attention(decoder, layer), (cross.query, layer), (cross.output, layer),
            (decoder.w_1, layer), (decoder.w_2, layer),
        ]  # fmt: skip
    return [*maps, (weights.output, 0), (decoder.qkv, 0)]


def _attention(stack: Stack, layer: int) -> list[tuple[Linear, int]]:
    if stack.is_recurrent:
        return [(stack.qkv, 2 * layer), (stack.qkv, 2 * layer + 1)]
    return [*((stack.qkv, 3 * layer + part) for part in range(3)), (stack.output, layer)]


class _Packer:
    """Packs a model's parameters; same-named maps of all layers become one."""

    def __init__(
        self,
        config: TransformerConfig,
        tensors: Tensors,
        precision: Precision,
        quantized: Mapping[str, Codes],
    ) -> None:
        self._config = config
        self._tensors = tensors
        self._precision = precision
        self._quantized = quantized if precision == "int8" else {}

    def pack(
        self, matrices: Sequence[str], biases: Sequence[Floats], padding_bias: float = 0.0
    ) -> Linear:
        """Pack matrices by name, with their biases."""
        if self._precision == "float32":
            weights = [self._tensors[name] for name in matrices]
            return pack_float32(weights, biases, padding_bias)
        known = [self._quantized.get(name) or self._tensors[name] for name in matrices]
        return pack_int8(known, biases, padding_bias)

    def embedding(self, name: str) -> Embedding:
        width = self._config.d_model
        if found := self._quantized.get(f"{name}.weight"):
            empty = np.zeros((0, width), np.float32)
            return Embedding(empty, found[0], np.float32(found[1]))
        values = np.ascontiguousarray(self._tensors[f"{name}.weight"], np.float32)
        return Embedding(values, np.zeros((0, width), np.int8), np.float32(1))

    def stack(self, name: str, n_layers: int, n_heads: int) -> Stack:
        attention, feed_forward = names.SELF_ATTENTION[name], names.FEED_FORWARD
        linear, norm = partial(self._linear, name, n_layers), partial(self._norm, name, n_layers)
        is_recurrent = name == names.DECODER and self._config.is_recurrent
        if is_recurrent:
            qkv = linear(names.SSRU.w, names.SSRU.w_f)
            output = Linear(
                qkv.weight[:0], qkv.scale[:0], qkv.bias[:0], qkv.inputs, qkv.following[:0]
            )
        else:
            qkv = linear(attention.w_q, attention.w_k, attention.w_v)
            output = linear(attention.w_o)
        final = [names.final_norm(name)] * (self._config.norm_order == "pre")
        return Stack(
            n_layers=n_layers,
            n_heads=n_heads,
            is_recurrent=is_recurrent,
            qkv=qkv,
            output=output,
            attention_norm=norm(attention.norm),  # also that of an SSRU
            w_1=linear(feed_forward.w_1),
            w_2=linear(feed_forward.w_2),
            feed_forward_norm=norm(feed_forward.norm),
            norm=self._norms(final),
        )

    def cross_attention(self, n_layers: int) -> CrossAttention:
        attention = names.CROSS_ATTENTION
        linear = partial(self._linear, names.DECODER, n_layers)
        return CrossAttention(
            query=linear(attention.w_q),
            memory_kv=linear(attention.w_k, attention.w_v),
            output=linear(attention.w_o),
            norm=self._norm(names.DECODER, n_layers, attention.norm),
        )

    def _linear(self, stack: str, n_layers: int, *linears: str) -> Linear:
        """Pack the linear maps of layer 0, then of layer 1 and so on."""
        paths = [names.in_layer(stack, n, path) for n in range(n_layers) for path in linears]
        return self.pack([f"{path}.weight" for path in paths], list(map(self._bias, paths)))

    def _bias(self, path: str) -> Floats:
        if f"{path}.bias" in self._tensors:
            return self._tensors[f"{path}.bias"]
        return np.zeros(len(self._tensors[f"{path}.weight"]), np.float32)

    def _norm(self, stack: str, n_layers: int, norm: str) -> Norm:
        return self._norms([names.in_layer(stack, n, norm) for n in range(n_layers)])

    def _norms(self, paths: Sequence[str]) -> Norm:
        """Pack one norm for each path; there may be none."""
        gains, biases = (
            np.array([self._tensors[f"{path}.{kind}"] for path in paths], np.float32)
            for kind in ("weight", "bias")
        )
        shape = len(paths), self._config.d_model
        epsilon = np.float32(self._config.norm_epsilon)
        return Norm(gains.reshape(shape), biases.reshape(shape), epsilon)
