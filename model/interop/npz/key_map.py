"""Maps tensor names between attend and Marian's own files.

Marian multiplies from the other side, so its matrices are [in, out], the transposes of attend's;
its vectors are [1, n].
"""

from __future__ import annotations

from collections.abc import Iterator

from model.transformer.config import TransformerConfig

EMBEDDING = "Wemb"
"""The name if both sides share it, else the suffix of `encoder_` or `decoder_`."""
OUTPUT = "decoder_ff_logit_out_Wt"
OUTPUT_TRANSPOSED = "decoder_ff_logit_out_W"
"""The name in older versions: [D, V]."""
OUTPUT_BIAS = "decoder_ff_logit_out_b"

_ATTENTION = {"w_q": "q", "w_k": "k", "w_v": "v", "w_o": "o"}
# Our → their names within a layer; `W` and `b` are weight and bias.
_FEED_FORWARD = {"feed_forward.w_1": ("ffn", "1"), "feed_forward.w_2": ("ffn", "2")}
_ENCODER_LINEAR = {
    **{f"self_attention.{ours}": ("self", theirs) for ours, theirs in _ATTENTION.items()},
    **_FEED_FORWARD,
}
_DECODER_LINEAR = {
    **_ENCODER_LINEAR,
    **{f"cross_attention.{ours}": ("context", theirs) for ours, theirs in _ATTENTION.items()},
}
_ENCODER_NORMS = {
    "attention_sublayer": "self_Wo",
    "feed_forward_sublayer": "ffn_ffn",
}
_DECODER_NORMS = {
    "self_attention_sublayer": "self_Wo",
    "cross_attention_sublayer": "context_Wo",
    "feed_forward_sublayer": "ffn_ffn",
}


def matrix_names(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """(our name, their name) of every matrix within the layers, to be transposed."""
    for ours, scope, number in _linear(config):
        yield f"{ours}.weight", f"{scope}_W{number}"


def vector_names(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """(our name, their name) of every bias, scale and shift, to be flattened."""
    for ours, scope, number in _linear(config):
        yield f"{ours}.bias", f"{scope}_b{number}"
    before = "_pre" if config.norm_order == "pre" else ""
    for stack, layer in _layers(config):
        norms = _ENCODER_NORMS if stack == "encoder" else _DECODER_NORMS
        for ours, theirs in norms.items():
            place = f"{stack}.layers.{layer}.{ours}.norm"
            yield from _norm(place, f"{stack}_l{layer + 1}_{theirs}", before)
    if config.norm_order == "pre":
        for stack in ("encoder", "decoder"):
            yield from _norm(f"{stack}.norm", f"{stack}_top", "")


def _norm(ours: str, theirs: str, suffix: str) -> Iterator[tuple[str, str]]:
    yield f"{ours}.weight", f"{theirs}_ln_scale{suffix}"
    yield f"{ours}.bias", f"{theirs}_ln_bias{suffix}"


def _linear(config: TransformerConfig) -> Iterator[tuple[str, str, str]]:
    for stack, layer in _layers(config):
        table = _ENCODER_LINEAR if stack == "encoder" else _DECODER_LINEAR
        for ours, (part, number) in table.items():
            yield f"{stack}.layers.{layer}.{ours}", f"{stack}_l{layer + 1}_{part}", number


def _layers(config: TransformerConfig) -> Iterator[tuple[str, int]]:
    for layer in range(config.n_encoder_layers):
        yield "encoder", layer
    for layer in range(config.n_decoder_layers):
        yield "decoder", layer
