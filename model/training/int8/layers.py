"""Which layers of a model multiply in int8 during training."""

from __future__ import annotations

from torch import nn

from model.training.int8.feed_forward import Int8FeedForward
from model.training.int8.linear import Int8Linear
from model.transformer.feed_forward import FeedForward


def use_int8_products(layers: nn.Module) -> None:
    """Replace the products of all linear layers in `layers` while they are in training mode.

    Feed-forward layers are replaced as a whole if they are equation 2 without dropout.
    """
    for module in layers.modules():
        if isinstance(module, nn.Linear):
            module.forward = Int8Linear(module)  # type: ignore[assignment]
        elif isinstance(module, FeedForward) and _is_equation_2(module):
            module.forward = Int8FeedForward(module)  # type: ignore[method-assign]


def _is_equation_2(layer: FeedForward) -> bool:
    return layer.activation == "relu" and layer.dropout.p == 0.0
