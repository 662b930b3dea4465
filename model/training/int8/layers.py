"""Linear and feed-forward layers that multiply in int8 during training, forward and backward."""

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from model.training.int8 import kernels
from model.training.int8.codes import Columns, Rows, outer_sum
from model.transformer.feed_forward import FeedForward

_BLOCK = 256
"""Tokens of a feed-forward layer at a time: 1 MB of sums at d_ff = 1024, which stay in the
second-level cache until the next codes are computed from them."""


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


class Int8FeedForward:
    """Replaces a feed-forward layer's `forward`; int8 products in training mode.

    The inner activations, the widest of a layer, exist in int8 only.
    """

    def __init__(self, layer: FeedForward) -> None:
        """`layer` has ReLU and no dropout."""
        self._layer = layer
        self._exact = layer.forward

    def __call__(self, x: Tensor) -> Tensor:
        """[…, D] → […, D]."""
        if not self._layer.training:
            return self._exact(x)
        rows = x.reshape(-1, x.shape[-1])
        output = _FeedForward.apply(rows, *self._layer.parameters())  # type: ignore[no-untyped-call]
        return cast(Tensor, output).view(x.shape)


class _FeedForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w_1: Tensor, b_1: Tensor, w_2: Tensor, b_2: Tensor) -> Tensor:  # noqa: PLR0917 (torch passes them by position)
        rows, first, second = Rows.of(x), Rows.of(w_1), Rows.of(w_2)
        hidden = Rows.empty(len(x), len(w_1))
        output = torch.empty(len(x), len(w_2))
        shift_1, shift_2 = b_1.detach().numpy(), b_2.detach().numpy()
        for start in range(0, len(x), _BLOCK):
            block = slice(start, start + _BLOCK)
            part, inner = rows.part(block), hidden.part(block)
            kernels.rectify(
                torch._int_mm(part.codes, first.codes.T).numpy(),
                part.scales.numpy(),
                first.scales.numpy(),
                shift_1,
                inner.codes.numpy(),
                inner.scales.numpy(),
            )
            kernels.rescale(
                torch._int_mm(inner.codes, second.codes.T).numpy(),
                inner.scales.numpy(),
                second.scales.numpy(),
                shift_2,
                output[block].numpy(),
            )
        ctx.save_for_backward(*rows, *hidden, w_1, w_2)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        codes, scales, hidden_codes, hidden_scales, w_1, w_2 = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        rows, first, second = Rows.of(gradient), Columns.of(w_1), Columns.of(w_2)
        d_hidden = Rows.empty(*hidden_codes.shape)
        d_x = torch.empty(len(gradient), w_1.shape[1])
        d_b_1, d_b_2 = torch.zeros(len(w_1)), torch.zeros(len(w_2))
        zeros = torch.zeros(w_1.shape[1]).numpy()
        for start in range(0, len(gradient), _BLOCK):
            block = slice(start, start + _BLOCK)
            part, inner = rows.part(block), d_hidden.part(block)
            kernels.rectify_backward(
                torch._int_mm(part.codes, second.codes).numpy(),
                part.scales.numpy(),
                second.scales.numpy(),
                hidden_codes[block].numpy(),
                inner.codes.numpy(),
                inner.scales.numpy(),
                d_b_1.numpy(),
            )
            kernels.rescale(
                torch._int_mm(inner.codes, first.codes).numpy(),
                inner.scales.numpy(),
                first.scales.numpy(),
                zeros,
                d_x[block].numpy(),
            )
        kernels.add_up_rows(gradient.numpy(), d_b_2.numpy())
        d_w_1 = outer_sum(d_hidden, Rows(codes, scales))
        d_w_2 = outer_sum(rows, Rows(hidden_codes, hidden_scales))
        return d_x, d_w_1, d_b_1, d_w_2, d_b_2


def use_int8_products(layers: nn.Module) -> None:
    """Replace the products of all linear layers in `layers` while they are in training mode.

    Feed-forward layers are replaced as a whole if they are equation 2 without dropout.
    """
    for module in layers.modules():
        if isinstance(module, nn.Linear):
            module.forward = Int8Linear(module)  # type: ignore[assignment]
        elif (
            isinstance(module, FeedForward)
            and module.activation == "relu"
            and module.dropout.p == 0.0
        ):
            module.forward = Int8FeedForward(module)  # type: ignore[method-assign]
