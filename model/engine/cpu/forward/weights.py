"""A checkpoint's tensors, packed for the kernels and shared by all engines of a process."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from model.engine.cpu.kernels.elementary import GELU, QUICK_GELU, RELU, SWISH, Norm
from model.engine.cpu.kernels.packing import Linear, pack_float32, pack_int8
from model.engine.cpu.kernels.types import Floats
from model.transformer import parameter_names as names
from model.transformer.config import Activation, TransformerConfig
from model.transformer.positions import sinusoidal_positions

Precision = Literal["int8", "float32"]
Tensors = Mapping[str, Floats]

_ACTIVATIONS: dict[Activation, int] = {
    "relu": RELU,
    "gelu": GELU,
    "swish": SWISH,
    "quick_gelu": QUICK_GELU,
}


class Shape(NamedTuple):
    """The part of the configuration that the kernels need."""

    d_model: int
    pre_norm: bool
    activation: int
    pad_id: int
    eos_id: int
    start_id: int
    embedding_scale: np.float32


class EncoderWeights(NamedTuple):
    """All layers of the encoder. qkv holds queries, keys and values of layer 0, of layer 1, …"""

    n_layers: int
    n_heads: int
    qkv: Linear
    attention_output: Linear
    attention_norm: Norm
    w_1: Linear
    w_2: Linear
    feed_forward_norm: Norm
    norm: Norm


class DecoderWeights(NamedTuple):
    """All layers of the decoder; memory_kv holds keys and values of layer 0, of layer 1, …

    With `is_recurrent`, qkv holds W and W_f of layer 0's SSRU, of layer 1's, …, and self_output
    nothing.
    """

    n_layers: int
    n_heads: int
    is_recurrent: bool
    qkv: Linear
    self_output: Linear
    self_norm: Norm
    cross_query: Linear
    memory_kv: Linear
    cross_output: Linear
    cross_norm: Norm
    w_1: Linear
    w_2: Linear
    feed_forward_norm: Norm
    norm: Norm


class Weights(NamedTuple):
    """A whole model. Embeddings [V, D] and positions [max_length, D] are float32."""

    shape: Shape
    source_embedding: Floats
    target_embedding: Floats
    positions: Floats
    encoder: EncoderWeights
    decoder: DecoderWeights
    output: Linear


def pack(
    config: TransformerConfig,
    tensors: Tensors,
    precision: Precision,
    scales: Mapping[str, float] = MappingProxyType({}),
) -> Weights:
    """Pack a `Transformer`'s parameters by name, in float32; shared ones may be there once.

    Matrices with one of the `scales` are whole multiples of it, and int8 keeps these.
    """
    packer = _Packer(tensors, precision, scales)
    source = packer.embedding(names.SOURCE_EMBEDDING)
    target = source if config.share_embeddings else packer.embedding(names.TARGET_EMBEDDING)
    # Read once more where it is the embedding, so that the table's pages are not all touched.
    target_name = names.SOURCE_EMBEDDING if config.share_embeddings else names.TARGET_EMBEDDING
    output = f"{target_name if config.tie_output else names.OUTPUT}.weight"
    bias = tensors.get(f"{names.OUTPUT}.bias", np.zeros(config.target_vocab_size, np.float32))
    return Weights(
        shape=Shape(
            config.d_model,
            config.norm_order == "pre",
            _ACTIVATIONS[config.activation],
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
        encoder=_encoder(packer, config),
        decoder=_decoder(packer, config),
        # Rows that pad the vocabulary get no probability.
        output=packer.pack([output], [bias], -np.inf),
    )


class _Packer:
    def __init__(self, tensors: Tensors, precision: Precision, scales: Mapping[str, float]) -> None:
        self._tensors = tensors
        self._precision = precision
        self._scales = scales

    def pack(
        self, matrices: Sequence[str], biases: Sequence[Floats], padding_bias: float = 0.0
    ) -> Linear:
        """Pack matrices by name, with their biases."""
        weights = [self._tensors[name] for name in matrices]
        if self._precision == "float32":
            return pack_float32(weights, biases, padding_bias)
        return pack_int8(weights, biases, padding_bias, [self._scales.get(n) for n in matrices])

    def embedding(self, name: str) -> Floats:
        return np.ascontiguousarray(self._tensors[f"{name}.weight"], np.float32)

    def linear(self, paths: Sequence[str]) -> Linear:
        """Pack linear maps one behind the other, in one stack."""
        matrices = [f"{path}.weight" for path in paths]
        biases = [
            self._tensors[name]
            if (name := f"{path}.bias") in self._tensors
            else np.zeros(len(self._tensors[f"{path}.weight"]), np.float32)
            for path in paths
        ]
        return self.pack(matrices, biases)

    def norm(self, paths: Sequence[str], config: TransformerConfig) -> Norm:
        """Pack one norm for each path; there may be none."""
        gains, biases = (
            np.array([self._tensors[f"{path}.{kind}"] for path in paths], np.float32)
            for kind in ("weight", "bias")
        )
        shape = len(paths), config.d_model
        epsilon = np.float32(config.norm_epsilon)
        return Norm(gains.reshape(shape), biases.reshape(shape), epsilon)


class _Stack:
    """Packs the encoder's or the decoder's layers: same-named maps of all layers in one."""

    def __init__(
        self, packer: _Packer, name: str, n_layers: int, config: TransformerConfig
    ) -> None:
        self._packer = packer
        self._name = name
        self._n_layers = n_layers
        self._config = config

    def linear(self, *linear: str) -> Linear:
        return self._packer.linear(self._in_layers(linear))

    def norm(self, norm: str) -> Norm:
        return self._packer.norm(self._in_layers([norm]), self._config)

    def final_norm(self) -> Norm:
        paths = [names.final_norm(self._name)] * (self._config.norm_order == "pre")
        return self._packer.norm(paths, self._config)

    def _in_layers(self, paths: Sequence[str]) -> list[str]:
        """`paths` of layer 0, then of layer 1 and so on."""
        numbers = range(self._n_layers)
        return [names.in_layer(self._name, number, path) for number in numbers for path in paths]


def _encoder(packer: _Packer, config: TransformerConfig) -> EncoderWeights:
    stack = _Stack(packer, names.ENCODER, config.n_encoder_layers, config)
    attention, feed_forward = names.SELF_ATTENTION[names.ENCODER], names.FEED_FORWARD
    return EncoderWeights(
        n_layers=config.n_encoder_layers,
        n_heads=config.n_heads,
        qkv=stack.linear(attention.w_q, attention.w_k, attention.w_v),
        attention_output=stack.linear(attention.w_o),
        attention_norm=stack.norm(attention.norm),
        w_1=stack.linear(feed_forward.w_1),
        w_2=stack.linear(feed_forward.w_2),
        feed_forward_norm=stack.norm(feed_forward.norm),
        norm=stack.final_norm(),
    )


def _decoder(packer: _Packer, config: TransformerConfig) -> DecoderWeights:
    stack = _Stack(packer, names.DECODER, config.n_decoder_layers, config)
    own, cross = names.SELF_ATTENTION[names.DECODER], names.CROSS_ATTENTION
    if config.is_recurrent:
        recurrent = names.SSRU
        qkv = stack.linear(recurrent.w, recurrent.w_f)
        self_output = Linear(qkv.weight[:0], qkv.scale[:0], qkv.bias[:0], qkv.inputs)
    else:
        qkv = stack.linear(own.w_q, own.w_k, own.w_v)
        self_output = stack.linear(own.w_o)
    return DecoderWeights(
        n_layers=config.n_decoder_layers,
        n_heads=config.n_heads_of_decoder,
        is_recurrent=config.is_recurrent,
        qkv=qkv,
        self_output=self_output,
        self_norm=stack.norm(own.norm),  # of the sub-layer, whichever it is
        cross_query=stack.linear(cross.w_q),
        memory_kv=stack.linear(cross.w_k, cross.w_v),
        cross_output=stack.linear(cross.w_o),
        cross_norm=stack.norm(cross.norm),
        w_1=stack.linear(names.FEED_FORWARD.w_1),
        w_2=stack.linear(names.FEED_FORWARD.w_2),
        feed_forward_norm=stack.norm(names.FEED_FORWARD.norm),
        norm=stack.final_norm(),
    )
