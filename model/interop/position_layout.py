"""Converts between interleaved sinusoids and all sines first, without changing the function.

A Transformer distinguishes its D = d_model dimensions only by its weights, so they may be permuted
if all weights that read or write them are permuted too.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

# The axis over d_model, by the end of a parameter's name.
_AXIS = {
    "embedding.weight": 1,
    "output.weight": 1,
    "w_q.weight": 1,
    "w_k.weight": 1,
    "w_v.weight": 1,
    "w_o.weight": 0,
    "w_o.bias": 0,
    "w_1.weight": 1,
    "w_2.weight": 0,
    "w_2.bias": 0,
    "norm.weight": 0,
    "norm.bias": 0,
}
_UNTOUCHED = ("w_q.bias", "w_k.bias", "w_v.bias", "w_1.bias", "output.bias")


def to_halves(weights: Mapping[str, Tensor], d_model: int) -> dict[str, Tensor]:
    """Convert the weights of a model with `interleaved` positions to `halves`."""
    return _permuted(weights, _sines_first(d_model))


def to_interleaved(weights: Mapping[str, Tensor], d_model: int) -> dict[str, Tensor]:
    """The inverse of `to_halves`, bit for bit."""
    return _permuted(weights, _sines_first(d_model).argsort())


def _sines_first(d_model: int) -> Tensor:
    dimensions = torch.arange(d_model)
    return torch.cat((dimensions[0::2], dimensions[1::2]))


def _permuted(weights: Mapping[str, Tensor], order: Tensor) -> dict[str, Tensor]:
    permuted: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if name.endswith(_UNTOUCHED):
            permuted[name] = tensor
        else:
            axis = next(axis for ending, axis in _AXIS.items() if name.endswith(ending))
            permuted[name] = tensor.index_select(axis, order)
    return permuted
