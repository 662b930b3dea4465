"""§5.4: label-smoothed cross-entropy, fused with the output projection.

At V = 8,000, the logits of one batch take more memory than all activations of a small model, and a
CPU spends more time on moving them than on multiplying. Here they exist for a few hundred positions
at a time, and their gradient, softmax minus target, is computed at once without a second pass.

With `candidates`, the softmax is over a sample of the vocabulary (Jean et al. 2015, §3): all tokens
that are targets in the batch, and a random choice of the others, each of which stands for several.
Their logits grow by the logarithm of that number, which keeps the normaliser's expectation.
"""

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
    hidden: Tensor, output: OutputProjection, targets: Tensor, smoothing: float, candidates: int = 0
) -> Loss:
    """hidden [N, D] and targets [N] → summed loss, differentiable in hidden and the projection.

    The target distribution is 1 − ε on the target plus ε / V on every token (Szegedy et al. 2016).
    With `candidates`, at least that many tokens are sampled, by torch's global generator; 0 takes
    the whole vocabulary.
    """
    weight: Tensor = output.weight
    bias: Tensor | None = output.bias
    uniform: Tensor | None = None
    if 0 < candidates < len(weight):
        sample, multiplicity = _sample(targets, len(weight), candidates)
        uniform = multiplicity / len(weight)
        weight = weight.index_select(0, sample)
        correction = multiplicity.log()
        bias = correction if bias is None else bias.index_select(0, sample) + correction
        targets = torch.searchsorted(sample, targets)
    inputs = (hidden, weight, bias, targets, smoothing, uniform)
    smoothed, cross_entropy = _ProjectedCrossEntropy.apply(*inputs)  # type: ignore[no-untyped-call]
    if uniform is not None:  # the correction is not part of the model's logits
        smoothed = smoothed + smoothing * len(targets) * (uniform @ correction)
    return Loss(smoothed, cross_entropy)


def _sample(targets: Tensor, vocab_size: int, candidates: int) -> tuple[Tensor, Tensor]:
    """Return sorted token ids [C], all targets among them, and how many tokens each stands for."""
    is_target = torch.zeros(vocab_size, dtype=torch.bool, device=targets.device)
    is_target[targets] = True
    others = (~is_target).nonzero()[:, 0]
    n_targets = vocab_size - len(others)
    n_sampled = min(max(candidates - n_targets, 1), len(others))
    chosen = others[torch.randperm(len(others), device=targets.device)[:n_sampled]]
    is_candidate = is_target.clone()
    is_candidate[chosen] = True
    sample = is_candidate.nonzero()[:, 0]
    stands_for = len(others) / max(n_sampled, 1)
    multiplicity = torch.where(is_target[sample], 1.0, stands_for)
    return sample, multiplicity


class _ProjectedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(  # noqa: PLR0917 (torch passes them by position)
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
        uniform: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        device = hidden.device.type
        dtype = (
            torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        )
        vocab_size = weight.shape[0]
        spread = smoothing / vocab_size if uniform is None else smoothing * uniform
        projection = weight.to(dtype)
        needs_gradient = any(ctx.needs_input_grad[:3])
        d_hidden = torch.empty_like(hidden) if needs_gradient else None
        d_weight = torch.zeros_like(weight) if needs_gradient else None
        d_bias = torch.zeros_like(bias) if bias is not None and ctx.needs_input_grad[2] else None
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
                log_softmax = logits.log_softmax(dim=1)
                nll = -log_softmax.gather(1, target).sum()
                cross_entropy += nll
                mean = log_softmax.mean(dim=1) if uniform is None else log_softmax @ uniform
                smoothed += (1 - smoothing) * nll - smoothing * mean.sum()
                if d_hidden is None or d_weight is None:
                    continue
                d_logits = log_softmax.exp_().sub_(spread)
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
        return (*scaled, None, None, None)
