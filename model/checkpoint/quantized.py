"""8-bit matrices in a checkpoint: int8 codes by the matrix's name, and a float32 scale beside them.

A value is its code times the scale. `encoder.layers.0.feed_forward.w_1.weight` has its scale in
`encoder.layers.0.feed_forward.w_1.weight_scale`, of shape [1].
"""

from __future__ import annotations

_SUFFIX = "_scale"


def scale_name(name: str) -> str:
    """Return the name of the scale of a matrix."""
    return name + _SUFFIX


def is_scale(name: str) -> bool:
    """Whether a tensor is the scale of another one, by its name."""
    return name.endswith(f".weight{_SUFFIX}")
