"""Marian's network in attend's terms: its shape, the names of its tensors, and the missing `<pad>`.

Marian multiplies from the other side, so its matrices are [in, out], the transposes of attend's;
its vectors are [1, n].
"""

from collections.abc import Iterator
from dataclasses import asdict

import torch
from torch import Tensor

from model.interop.npz.options import ModelOptions
from model.text.marian_tokenizer import MarianTokenizer
from model.transformer import parameter_names as names
from model.transformer.config import TransformerConfig

EMBEDDING = "Wemb"
"""The name if both sides share it, else the suffix of `encoder_` or `decoder_`."""
OUTPUT = "decoder_ff_logit_out_Wt"
OUTPUT_TRANSPOSED = "decoder_ff_logit_out_W"
"""The name in older versions: [D, V]."""
OUTPUT_BIAS = "decoder_ff_logit_out_b"

_LINEAR = ("q", "k", "v", "o")

PAD_LOGIT = -10_000.0
"""Zero probability in any precision, which leaves the other tokens unchanged."""

_EPSILON = 1e-6
"""ε of Marian's LayerNorm."""


def network_shape(
    origin: str, options: ModelOptions, tokenizer: MarianTokenizer, *, max_length: int, share: bool
) -> TransformerConfig:
    """Return the configuration of a model; `share` if both sides have one embedding.

    Raises `ConfigError` that names `origin`.
    """
    values = asdict(options)
    del values["vocabularies"]
    values |= {
        "decoder_n_heads": options.n_heads,
        "source_vocab_size": tokenizer.source_vocab_size,
        "target_vocab_size": tokenizer.target_vocab_size,
        "max_length": max_length,
        "norm_epsilon": _EPSILON,
        "position_layout": "marian",
        "share_embeddings": share,
        "output_bias": True,
        "pad_id": tokenizer.pad_id,
        "eos_id": tokenizer.eos_id,
        "start_id": tokenizer.pad_id,  # a zero embedding, as the first input of Marian's decoder
    }
    return TransformerConfig.parse(values, origin)


def embedding_names(share: bool) -> tuple[str, str]:
    """Their names of the embeddings of both sides."""
    sides = ("", "") if share else ("encoder_", "decoder_")
    return sides[0] + EMBEDDING, sides[1] + EMBEDDING


def with_pad(rows: Tensor, pad_id: int, value: float) -> Tensor:
    """[V, …] → [V + 1, …], with a row of `value` at `pad_id`."""
    pad = rows.new_full((1, *rows.shape[1:]), value)
    return torch.cat((rows[:pad_id], pad, rows[pad_id:]))


def matrix_names(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """(our name, their name) of every matrix within the layers, to be transposed."""
    for ours, scope, suffix in _linear(config):
        yield f"{ours}.weight", f"{scope}_W{suffix}"
    for layer in range(config.n_decoder_layers if config.is_recurrent else 0):
        ours = names.in_layer(names.DECODER, layer, names.SSRU.w)
        yield f"{ours}.weight", f"decoder_l{layer + 1}_rnn_W"


def vector_names(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """(our name, their name) of every bias, scale and shift, to be flattened."""
    for ours, scope, suffix in _linear(config):
        yield f"{ours}.bias", f"{scope}_b{suffix}"
    before = "_pre" if config.norm_order == "pre" else ""
    for stack, layer in _layers(config):
        norms = [(ours.norm, f"{theirs}_Wo") for ours, theirs in _attentions(config, stack)]
        if stack == names.DECODER and config.is_recurrent:
            norms.append((names.SSRU.norm, "rnn_ffn"))
        for ours, theirs in (*norms, (names.FEED_FORWARD.norm, "ffn_ffn")):
            path = names.in_layer(stack, layer, ours)
            yield from _norm(path, f"{stack}_l{layer + 1}_{theirs}", before)
    if config.norm_order == "pre":
        for stack in names.STACKS:
            yield from _norm(names.final_norm(stack), f"{stack}_top", "")


def _norm(ours: str, theirs: str, suffix: str) -> Iterator[tuple[str, str]]:
    yield f"{ours}.weight", f"{theirs}_ln_scale{suffix}"
    yield f"{ours}.bias", f"{theirs}_ln_bias{suffix}"


def _linear(config: TransformerConfig) -> Iterator[tuple[str, str, str]]:
    """Yield our name, their scope, and the suffix after `W` (weight) and `b` (bias)."""
    for stack, layer in _layers(config):
        linear = [
            (ours, part, suffix)
            for attention, part in _attentions(config, stack)
            for ours, suffix in zip(attention.linear, _LINEAR, strict=True)
        ]
        if stack == names.DECODER and config.is_recurrent:
            linear.append((names.SSRU.w_f, "rnn", "f"))
        linear += [(names.FEED_FORWARD.w_1, "ffn", "1"), (names.FEED_FORWARD.w_2, "ffn", "2")]
        for ours, part, suffix in linear:
            yield names.in_layer(stack, layer, ours), f"{stack}_l{layer + 1}_{part}", suffix


def _attentions(
    config: TransformerConfig, stack: str
) -> Iterator[tuple[names.AttentionNames, str]]:
    for attention in names.attentions(stack, recurrent=config.is_recurrent):
        yield attention, "context" if attention is names.CROSS_ATTENTION else "self"


def _layers(config: TransformerConfig) -> Iterator[tuple[str, int]]:
    for layer in range(config.n_encoder_layers):
        yield names.ENCODER, layer
    for layer in range(config.n_decoder_layers):
        yield names.DECODER, layer
