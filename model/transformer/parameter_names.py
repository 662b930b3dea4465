"""The names of a `Transformer`'s parameters, by their place in figure 1; imports no torch.

Modules that read weights by name (importers, exporters, CPU kernels) take the names from here.
Each name is a path to a module; its parameters are `weight` and, where it has one, `bias`.
"""

from typing import NamedTuple

SOURCE_EMBEDDING = "source_embedding"
TARGET_EMBEDDING = "target_embedding"
"""Absent if the source embedding is shared."""
OUTPUT = "output"
"""§3.4: the linear map to logits. Without a weight if tied to the target embedding."""

ENCODER, DECODER = "encoder", "decoder"
STACKS = (ENCODER, DECODER)


class AttentionNames(NamedTuple):
    """§3.2.2: an attention's four linear maps, and the norm of its sub-layer, within a layer."""

    w_q: str
    w_k: str
    w_v: str
    w_o: str
    norm: str

    @property
    def linear(self) -> tuple[str, ...]:
        """Return the names of the linear maps."""
        return self[:4]


class FeedForwardNames(NamedTuple):
    """§3.3: a feed-forward network's linear maps, and the norm of its sub-layer."""

    w_1: str
    w_2: str
    norm: str


class RecurrenceNames(NamedTuple):
    """An SSRU's two linear maps, the first without a bias, and the norm of its sub-layer."""

    w: str
    w_f: str
    norm: str


def _attention(name: str, sublayer: str) -> AttentionNames:
    return AttentionNames(
        f"{name}.w_q", f"{name}.w_k", f"{name}.w_v", f"{name}.w_o", f"{sublayer}.norm"
    )


SELF_ATTENTION = {
    ENCODER: _attention("self_attention", "attention_sublayer"),
    DECODER: _attention("self_attention", "self_attention_sublayer"),
}
CROSS_ATTENTION = _attention("cross_attention", "cross_attention_sublayer")
"""Only in the decoder."""
SSRU = RecurrenceNames("ssru.w", "ssru.w_f", "self_attention_sublayer.norm")
"""In the decoder, in place of its self-attention, if the configuration has it."""
FEED_FORWARD = FeedForwardNames(
    "feed_forward.w_1", "feed_forward.w_2", "feed_forward_sublayer.norm"
)


def attentions(stack: str, *, recurrent: bool = False) -> tuple[AttentionNames, ...]:
    """Return the names of the attentions of a layer of a stack, in the order of figure 1.

    A `recurrent` decoder has an SSRU in place of its self-attention.
    """
    if stack == ENCODER:
        return (SELF_ATTENTION[ENCODER],)
    return (CROSS_ATTENTION,) if recurrent else (SELF_ATTENTION[DECODER], CROSS_ATTENTION)


def in_layer(stack: str, layer: int, name: str) -> str:
    """Return the full name of a module within a layer."""
    return f"{stack}.layers.{layer}.{name}"


def final_norm(stack: str) -> str:
    """Return the name of the norm after a pre-norm stack; post-norm stacks have none."""
    return f"{stack}.norm"
