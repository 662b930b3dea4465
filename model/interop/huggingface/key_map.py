"""Maps tensor names between attend and `transformers`' Marian.

Matrices have the same layout ([out, in]), so only names change.
"""

from __future__ import annotations

from collections.abc import Iterator

from model.transformer import parameter_names as names
from model.transformer.config import TransformerConfig

_LINEAR = ("q_proj", "k_proj", "v_proj", "out_proj")  # Q, K, V, O
_ATTENTION = ("self_attn", "encoder_attn")
_FEED_FORWARD = dict(zip(names.FEED_FORWARD, ("fc1", "fc2", "final_layer_norm"), strict=True))


def _in_layer(stack: str) -> dict[str, str]:
    """Our → their names within a layer."""
    table: dict[str, str] = {}
    for ours, theirs in zip(names.attentions(stack), _ATTENTION, strict=False):
        their_linear = (f"{theirs}.{linear}" for linear in _LINEAR)
        table |= dict(zip(ours, (*their_linear, f"{theirs}_layer_norm"), strict=True))
    return table | _FEED_FORWARD


# Their names outside the layers. `SHARED` replaces the three after it if they are missing.
SHARED = "model.shared.weight"
SOURCE = "model.encoder.embed_tokens.weight"
TARGET = "model.decoder.embed_tokens.weight"
OUTPUT = "lm_head.weight"
OUTPUT_BIAS = "final_logits_bias"
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")

# Tables that M2M-100 used to be saved with, and is computed without.
_UNREAD = ("model.encoder.embed_positions.weights", "model.decoder.embed_positions.weights")

OUTSIDE_LAYERS = {SHARED, SOURCE, TARGET, OUTPUT, OUTPUT_BIAS, *POSITIONS, *_UNREAD}


def layer_names(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """(our name, their name) of every tensor within the layers."""
    n_layers = config.n_encoder_layers, config.n_decoder_layers
    for stack, n in zip(names.STACKS, n_layers, strict=True):
        for layer in range(n):
            for ours, theirs in _in_layer(stack).items():
                for kind in ("weight", "bias"):
                    ours_in_full = names.in_layer(stack, layer, ours)
                    yield f"{ours_in_full}.{kind}", f"model.{stack}.layers.{layer}.{theirs}.{kind}"


def final_norm_names(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """(our name, their name) of the norms after pre-norm stacks, as in Pegasus."""
    if config.norm_order == "pre":
        for stack in names.STACKS:
            for kind in ("weight", "bias"):
                yield f"{names.final_norm(stack)}.{kind}", f"model.{stack}.layer_norm.{kind}"
