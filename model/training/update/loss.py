"""§5.4: label-smoothed cross-entropy, fused with the output projection.

At V = 8,000, the logits of one batch take more memory than all activations of a small model, and a
CPU spends more time on moving them than on multiplying. Here they exist for a few hundred positions
at a time, and their gradient, softmax minus target, is computed at once without a second pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from model.transformer.embedding import OutputProjection

_CHUNK_LOGITS = 2**21
"""Logits held at a time: 8 MB in float32, which fits into a CPU's last-level cache."""


class Loss(NamedTuple):
    """Sums over target tokens, in nats: the minimised loss, and cross-entropy without smoothing."""

    smoothed: Tensor
    cross_entropy: Tensor


def smoothed_cross_entropy(
    hidden: Tensor, output: OutputProjection, targets: Tensor, smoothing: float
) -> Loss:
    """hidden [N, D] and targets [N] → summed loss, differentiable in hidden and the projection.

    The target distribution is 1 − ε on the target plus ε / V on every token (Szegedy et al. 2016).
    """
    inputs = (hidden, output.weight, output.bias, targets, smoothing)
    return Loss(*_ProjectedCrossEntropy.apply(*inputs))  # type: ignore[no-untyped-call]


class _ProjectedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(  # noqa: PLR0917 (torch passes them by position)
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
    ) -> tuple[Tensor, Tensor]:
        device = hidden.device.type
        dtype = (
            torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        )
        vocab_size = weight.shape[0]
        projection = weight.to(dtype)
        needs_gradient = any(ctx.needs_input_grad[:3])
        d_hidden = torch.empty_like(hidden) if needs_gradient else None
        d_weight = torch.zeros_like(weight) if needs_gradient else None
        d_bias = torch.zeros_like(bias) if needs_gradient and bias is not None else None
        smoothed = hidden.new_zeros((), dtype=torch.float32)
        cross_entropy = hidden.new_zeros((), dtype=torch.float32)
        rows = max(1, _CHUNK_LOGITS // vocab_size)
        with torch.autocast(device, enabled=False):
            for start in range(0, len(hidden), rows):
                chunk = slice(start, start + rows)
                states = hidden[chunk].to(dtype)
                logits = (states @ projection.T).float()
                if bias is not None:
                    logits += bias
                target = targets[chunk, None]
                log_normaliser = logits.logsumexp(dim=1)
                nll = (log_normaliser - logits.gather(1, target)[:, 0]).sum()
                uniform = (log_normaliser - logits.mean(dim=1)).sum()
                cross_entropy += nll
                smoothed += (1 - smoothing) * nll + smoothing * uniform
                if d_hidden is None or d_weight is None:
                    continue
                d_logits = logits.sub_(log_normaliser[:, None]).exp_().sub_(smoothing / vocab_size)
                d_logits.scatter_add_(
                    1, target, torch.full_like(target, smoothing - 1, dtype=torch.float32)
                )
                if d_bias is not None:
                    d_bias += d_logits.sum(dim=0)
                d_low = d_logits.to(dtype)
                d_hidden[chunk] = (d_low @ projection).to(d_hidden.dtype)
                d_weight += d_low.T @ states
        ctx.gradients = (d_hidden, d_weight, d_bias)
        ctx.mark_non_differentiable(cross_entropy)
        return smoothed, cross_entropy

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *d_outputs: Tensor) -> tuple[Tensor | None, ...]:
        scale = d_outputs[0]
        scaled = [None if gradient is None else gradient * scale for gradient in ctx.gradients]
        return (*scaled, None, None)
