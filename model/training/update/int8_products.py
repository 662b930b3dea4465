"""Products of linear layers in int8, on CPUs where those are several times as fast as float32.

As in SwitchBack (Wortsman et al. 2023): the outputs of a layer and the gradients of its inputs are
int8 products, with a scale for each row of either side, and the gradients of weights, which add up
thousands of tokens, stay float32 products. Weights, moments and everything between layers are
float32 too, so what a run saves does not depend on it.
"""

from __future__ import annotations

from typing import Any, cast

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

Floats = NDArray[np.float32]

_LARGEST = np.float32(127.0)


def use_int8_products(layers: nn.Module) -> None:
    """Replace the products of all linear layers in `layers` while they are in training mode."""
    for module in layers.modules():
        if isinstance(module, nn.Linear):
            module.forward = _Product(module)  # type: ignore[assignment]


class _Product:
    def __init__(self, layer: nn.Linear) -> None:
        self._layer = layer

    def __call__(self, x: Tensor) -> Tensor:
        """[…, K] → […, M]."""
        layer = self._layer
        if not layer.training:
            return nn.functional.linear(x, layer.weight, layer.bias)
        rows = x.reshape(-1, x.shape[-1])
        output = _Int8Linear.apply(rows, layer.weight, layer.bias)  # type: ignore[no-untyped-call]
        return cast(Tensor, output).view(*x.shape[:-1], -1)


class _Int8Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return int8_product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        d_x = int8_product(gradient, weight.T) if ctx.needs_input_grad[0] else None
        d_bias = gradient.sum(dim=0) if ctx.has_bias else None
        return d_x, gradient.T @ x, d_bias


def int8_product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [N, K], weight [M, K], bias [M] → x weightᵀ + bias [N, M], all float32.

    A row of `x` that is not finite gives a row of NaN.
    """
    x_codes, x_scales = _quantised(x)
    weight_codes, weight_scales = _quantised(weight)
    sums = torch._int_mm(x_codes, weight_codes.T)
    output = torch.empty(len(x), len(weight))
    shift = torch.zeros(len(weight)) if bias is None else bias.detach()
    _rescale(sums.numpy(), x_scales.numpy(), weight_scales.numpy(), shift.numpy(), output.numpy())
    return output


def _quantised(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """[N, K] → codes [N, K] in −127 … 127 and scales [N], whose products are the rounded rows."""
    rows = matrix.detach().contiguous()
    codes = torch.empty(rows.shape, dtype=torch.int8)
    scales = torch.empty(len(rows))
    _quantise(rows.numpy(), codes.numpy(), scales.numpy())
    return codes, scales


_ROUNDING = np.float32(1.5 * 2**23)
"""Added to a small float32 number and subtracted again, it rounds to an integer, half to even."""


_ABSOLUTE = np.int32(0x7FFFFFFF)
"""Without the sign, the bits of float32 numbers are integers of the same order."""


@numba.njit(nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _quantise(rows: Floats, codes: NDArray[np.int8], scales: Floats) -> None:
    bits = rows.view(np.int32)
    for n in range(rows.shape[0]):
        largest_bits = np.int32(0)  # a maximum of integers is vectorised, one of floats is not
        for k in range(rows.shape[1]):
            largest_bits = max(largest_bits, bits[n, k] & _ABSOLUTE)
        scales.view(np.int32)[n] = largest_bits
        inverse = _LARGEST / scales[n] if largest_bits else np.float32(0.0)
        for k in range(rows.shape[1]):
            codes[n, k] = np.int8(np.int32((rows[n, k] * inverse + _ROUNDING) - _ROUNDING))
        scales[n] /= _LARGEST


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})  # type: ignore[untyped-decorator]
def _rescale(
    sums: NDArray[np.int32],
    row_scales: Floats,
    column_scales: Floats,
    shift: Floats,
    output: Floats,
) -> None:
    for n in range(sums.shape[0]):
        scale = row_scales[n]
        for m in range(sums.shape[1]):
            output[n, m] = np.float32(sums[n, m]) * (scale * column_scales[m]) + shift[m]
