"""Linear layers whose three products, forward and backward, are int8 products."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from model.training.int8 import kernels
from model.training.int8.codes import Columns, Rows, outer_sum


class Int8Linear:
    """Replaces a linear layer's `forward`; int8 products in training mode."""

    def __init__(self, layer: nn.Linear) -> None:
        self._layer = layer

    def __call__(self, x: Tensor) -> Tensor:
        """[…, K] → […, M]."""
        layer = self._layer
        if not layer.training:
            return nn.functional.linear(x, layer.weight, layer.bias)
        rows = x.reshape(-1, x.shape[-1])
        output = _Linear.apply(rows, layer.weight, layer.bias)  # type: ignore[no-untyped-call]
        return cast(Tensor, output).view(*x.shape[:-1], -1)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows = Rows.of(x)
        ctx.save_for_backward(*rows, weight)
        ctx.has_bias = bias is not None
        return product(rows, Rows.of(weight), bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *saved, weight = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        rows = Rows.of(gradient)
        d_x = product(rows, Columns.of(weight)) if ctx.needs_input_grad[0] else None
        d_bias = None
        if ctx.has_bias:
            d_bias = torch.zeros(gradient.shape[1])
            kernels.add_up_rows(gradient.numpy(), d_bias.numpy())
        return d_x, outer_sum(rows, Rows(*saved)), d_bias


def product(x: Rows, weight: Rows | Columns, bias: Tensor | None = None) -> Tensor:
    """x [N, K] → [N, M], float32: x weightᵀ + bias with rows [M, K], x weight with columns [K, M].

    A row of `x` that is not finite gives a row of NaN.
    """
    codes = weight.codes.T if isinstance(weight, Rows) else weight.codes
    sums = torch._int_mm(x.codes, codes)
    output = torch.empty(sums.shape)
    shift = torch.zeros(sums.shape[1]) if bias is None else bias.detach()
    kernels.rescale(
        sums.numpy(), x.scales.numpy(), weight.scales.numpy(), shift.numpy(), output.numpy()
    )
    return output
