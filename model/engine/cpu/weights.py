"""A checkpoint's tensors, packed for the kernels and shared by all engines of a process."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from model.engine.cpu.elementary import GELU, QUICK_GELU, RELU, SWISH, Norm
from model.engine.cpu.packing import Linear, pack_float32, pack_int8
from model.engine.cpu.types import Floats
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
    """What the kernels need of the configuration."""

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
    """All layers of the decoder; memory_kv holds keys and values of layer 0, of layer 1, …"""

    n_layers: int
    n_heads: int
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


def pack(config: TransformerConfig, tensors: Tensors, precision: Precision) -> Weights:
    """Pack a `Transformer`'s parameters by name, in float32; shared ones may be there once."""
    packer = _Packer(tensors, pack_int8 if precision == "int8" else pack_float32)
    source = packer.embedding("source_embedding.weight")
    target = source if config.share_embeddings else packer.embedding("target_embedding.weight")
    output = target if config.tie_output else packer.embedding("output.weight")
    bias = tensors.get("output.bias", np.zeros(config.target_vocab_size, np.float32))
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
        positions=sinusoidal_positions(config.max_length, config.d_model, config.position_layout),
        encoder=_encoder(packer, config),
        decoder=_decoder(packer, config),
        # What pads the vocabulary gets no probability.
        output=packer.pack([output], [bias], -np.inf),
    )


class _Packer:
    def __init__(self, tensors: Tensors, pack: Callable[..., Linear]) -> None:
        self._tensors = tensors
        self.pack = pack

    def embedding(self, name: str) -> Floats:
        return np.ascontiguousarray(self._tensors[name], np.float32)

    def linear(self, prefix: str, n_layers: int, names: Sequence[str]) -> Linear:
        """`names` of layer 0, then of layer 1 and so on, in one stack."""
        paths = [f"{prefix}.layers.{n}.{name}" for n in range(n_layers) for name in names]
        weights = [self._tensors[f"{path}.weight"] for path in paths]
        return self.pack(weights, [self._tensors[f"{path}.bias"] for path in paths])

    def norm(self, paths: Sequence[str], config: TransformerConfig) -> Norm:
        """One for each path; there may be none."""
        gains, biases = (
            np.array([self._tensors[f"{path}.{kind}"] for path in paths], np.float32)
            for kind in ("weight", "bias")
        )
        shape = len(paths), config.d_model
        epsilon = np.float32(config.norm_epsilon)
        return Norm(gains.reshape(shape), biases.reshape(shape), epsilon)


def _encoder(packer: _Packer, config: TransformerConfig) -> EncoderWeights:
    n_layers = config.n_encoder_layers

    def linear(*names: str) -> Linear:
        return packer.linear("encoder", n_layers, names)

    def norm(name: str) -> Norm:
        return packer.norm([f"encoder.layers.{n}.{name}.norm" for n in range(n_layers)], config)

    return EncoderWeights(
        n_layers=n_layers,
        n_heads=config.n_heads,
        qkv=linear("self_attention.w_q", "self_attention.w_k", "self_attention.w_v"),
        attention_output=linear("self_attention.w_o"),
        attention_norm=norm("attention_sublayer"),
        w_1=linear("feed_forward.w_1"),
        w_2=linear("feed_forward.w_2"),
        feed_forward_norm=norm("feed_forward_sublayer"),
        norm=packer.norm(["encoder.norm"] * (config.norm_order == "pre"), config),
    )


def _decoder(packer: _Packer, config: TransformerConfig) -> DecoderWeights:
    n_layers = config.n_decoder_layers

    def linear(*names: str) -> Linear:
        return packer.linear("decoder", n_layers, names)

    def norm(name: str) -> Norm:
        return packer.norm([f"decoder.layers.{n}.{name}.norm" for n in range(n_layers)], config)

    return DecoderWeights(
        n_layers=n_layers,
        n_heads=config.n_heads_of_decoder,
        qkv=linear("self_attention.w_q", "self_attention.w_k", "self_attention.w_v"),
        self_output=linear("self_attention.w_o"),
        self_norm=norm("self_attention_sublayer"),
        cross_query=linear("cross_attention.w_q"),
        memory_kv=linear("cross_attention.w_k", "cross_attention.w_v"),
        cross_output=linear("cross_attention.w_o"),
        cross_norm=norm("cross_attention_sublayer"),
        w_1=linear("feed_forward.w_1"),
        w_2=linear("feed_forward.w_2"),
        feed_forward_norm=norm("feed_forward_sublayer"),
        norm=packer.norm(["decoder.norm"] * (config.norm_order == "pre"), config),
    )
