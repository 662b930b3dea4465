"""Maps tensor names between attend and `transformers`' Marian.

Matrices have the same layout ([out, in]), so only names change.
"""

from __future__ import annotations

from collections.abc import Iterator

from model.transformer.config import TransformerConfig

# Our → their names within a layer.
_LINEAR = {"w_q": "q_proj", "w_k": "k_proj", "w_v": "v_proj", "w_o": "out_proj"}
_ENCODER_LAYER = {
    **{f"self_attention.{ours}": f"self_attn.{theirs}" for ours, theirs in _LINEAR.items()},
    "attention_sublayer.norm": "self_attn_layer_norm",
    "feed_forward.w_1": "fc1",
    "feed_forward.w_2": "fc2",
    "feed_forward_sublayer.norm": "final_layer_norm",
}
_DECODER_LAYER = {
    **{f"self_attention.{ours}": f"self_attn.{theirs}" for ours, theirs in _LINEAR.items()},
    "self_attention_sublayer.norm": "self_attn_layer_norm",
    **{f"cross_attention.{ours}": f"encoder_attn.{theirs}" for ours, theirs in _LINEAR.items()},
    "cross_attention_sublayer.norm": "encoder_attn_layer_norm",
    "feed_forward.w_1": "fc1",
    "feed_forward.w_2": "fc2",
    "feed_forward_sublayer.norm": "final_layer_norm",
}

# Their names outside the layers. `SHARED` replaces the three after it if they are missing.
SHARED = "model.shared.weight"
SOURCE = "model.encoder.embed_tokens.weight"
TARGET = "model.decoder.embed_tokens.weight"
OUTPUT = "lm_head.weight"
OUTPUT_BIAS = "final_logits_bias"
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")

OUTSIDE_LAYERS = {SHARED, SOURCE, TARGET, OUTPUT, OUTPUT_BIAS, *POSITIONS}


def layer_names(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """(our name, their name) of every tensor within the layers."""
    for stack, n_layers, table in (
        ("encoder", config.n_encoder_layers, _ENCODER_LAYER),
        ("decoder", config.n_decoder_layers, _DECODER_LAYER),
    ):
        for layer in range(n_layers):
            for ours, theirs in table.items():
                for kind in ("weight", "bias"):
                    place = f"{stack}.layers.{layer}"
                    yield f"{place}.{ours}.{kind}", f"model.{place}.{theirs}.{kind}"


def final_norm_names(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """(our name, their name) of the norms after pre-norm stacks, as in Pegasus."""
    if config.norm_order == "pre":
        for stack in ("encoder", "decoder"):
            for kind in ("weight", "bias"):
                yield f"{stack}.norm.{kind}", f"model.{stack}.layer_norm.{kind}"
