"""A feed-forward layer whose inner activations, the widest of a layer, exist in int8 alone.

Tokens are processed in blocks, so that the sums of a block's products stay in the second-level
cache until the next codes are computed from them.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from model.training.int8 import kernels
from model.training.int8.codes import Columns, Rows, outer_sum
from model.transformer.feed_forward import FeedForward

_BLOCK = 256
"""Tokens at a time: 1 MB of sums at d_ff = 1024."""


class Int8FeedForward:
    """Replaces a feed-forward layer's `forward`; int8 products in training mode."""

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
