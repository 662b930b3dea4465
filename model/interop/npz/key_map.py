"""Maps tensor names between attend and Marian's own files.

Marian multiplies from the other side, so its matrices are [in, out], the transposes of attend's;
its vectors are [1, n].
"""

from __future__ import annotations

from collections.abc import Iterator

from model.transformer import parameter_names as names
from model.transformer.config import TransformerConfig

EMBEDDING = "Wemb"
"""The name if both sides share it, else the suffix of `encoder_` or `decoder_`."""
OUTPUT = "decoder_ff_logit_out_Wt"
OUTPUT_TRANSPOSED = "decoder_ff_logit_out_W"
"""The name in older versions: [D, V]."""
OUTPUT_BIAS = "decoder_ff_logit_out_b"

_ATTENTION = ("self", "context")
_LINEAR = ("q", "k", "v", "o")


def matrix_names(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """(our name, their name) of every matrix within the layers, to be transposed."""
    for ours, scope, suffix in _linear(config):
        yield f"{ours}.weight", f"{scope}_W{suffix}"


def vector_names(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """(our name, their name) of every bias, scale and shift, to be flattened."""
    for ours, scope, suffix in _linear(config):
        yield f"{ours}.bias", f"{scope}_b{suffix}"
    before = "_pre" if config.norm_order == "pre" else ""
    for stack, layer in _layers(config):
        norms = [
            (ours.norm, f"{theirs}_Wo")
            for ours, theirs in zip(names.attentions(stack), _ATTENTION, strict=False)
        ]
        for ours, theirs in (*norms, (names.FEED_FORWARD.norm, "ffn_ffn")):
            place = names.in_layer(stack, layer, ours)
            yield from _norm(place, f"{stack}_l{layer + 1}_{theirs}", before)
    if config.norm_order == "pre":
        for stack in names.STACKS:
            yield from _norm(names.final_norm(stack), f"{stack}_top", "")


def _norm(ours: str, theirs: str, suffix: str) -> Iterator[tuple[str, str]]:
    yield f"{ours}.weight", f"{theirs}_ln_scale{suffix}"
    yield f"{ours}.bias", f"{theirs}_ln_bias{suffix}"


def _linear(config: TransformerConfig) -> Iterator[tuple[str, str, str]]:
    """Yield our name, their scope, and the suffix behind `W` (weight) and `b` (bias)."""
    for stack, layer in _layers(config):
        linear = [
            (ours, part, suffix)
            for attention, part in zip(names.attentions(stack), _ATTENTION, strict=False)
            for ours, suffix in zip(attention.linear, _LINEAR, strict=True)
        ]
        linear += [(names.FEED_FORWARD.w_1, "ffn", "1"), (names.FEED_FORWARD.w_2, "ffn", "2")]
        for ours, part, suffix in linear:
            yield names.in_layer(stack, layer, ours), f"{stack}_l{layer + 1}_{part}", suffix


def _layers(config: TransformerConfig) -> Iterator[tuple[str, int]]:
    for layer in range(config.n_encoder_layers):
        yield names.ENCODER, layer
    for layer in range(config.n_decoder_layers):
        yield names.DECODER, layer
