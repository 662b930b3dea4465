"""Muon (Jordan et al. 2024): momentum whose singular values are all brought near 1.

A step moves a matrix by the nearest orthogonal matrix to its momentum, which a Newton-Schulz
iteration approximates with products alone. Sizes follow Liu et al. 2025 (Muon is Scalable for LLM
Training): scaled to the root mean square of Adam's usual step, with decoupled weight decay.

`torch.optim.Muon` does the same in bf16 only, which takes twice as long as float32 on processors
without fast bf16, and repeats the iteration in each process of a run.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from model.training.update.processes import ALONE, Processes

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Jordan et al.'s quintic: the steepest at 0 that keeps singular values between 0.7 and 1.2."""

_ITERATIONS = 5
_RMS_OF_ADAM = 0.2


class Muon(torch.optim.Optimizer):
    """Muon over matrices; each of several processes orthogonalises some of them."""

    def __init__(
        self,
        matrices: Iterable[nn.Parameter],
        *,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        dtype: torch.dtype = torch.bfloat16,
        processes: Processes = ALONE,
    ) -> None:
        """`dtype` is the type of the iteration's products."""
        super().__init__(matrices, {"lr": 0.0, "momentum": momentum, "weight_decay": weight_decay})
        self._dtype = dtype
        self._processes = processes

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # noqa: ARG002
        """Move each matrix by its orthogonalised Nesterov momentum."""
        for group in self.param_groups:
            matrices = group["params"]
            momenta = [
                self._momentum(matrix, matrix.grad, group["momentum"]) for matrix in matrices
            ]
            for index in self._processes.share(len(matrices)):
                matrix = matrices[index]
                update = orthogonalised(momenta[index], self._dtype)
                size = _RMS_OF_ADAM * math.sqrt(max(matrix.shape))
                matrix.mul_(1 - group["lr"] * group["weight_decay"])
                matrix.add_(update, alpha=-group["lr"] * size)
            for rank in range(self._processes.count):
                theirs = Processes(rank, self._processes.count).share(len(matrices))
                self._processes.broadcast([matrices[index] for index in theirs], rank)

    def _momentum(self, matrix: nn.Parameter, gradient: Tensor, decay: float) -> Tensor:
        """Update the running average of gradients; return it looked ahead by one step."""
        state = self.state[matrix]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        average: Tensor = state["momentum_buffer"].lerp_(gradient, 1 - decay)
        return gradient.lerp(average, decay)


def orthogonalised(matrix: Tensor, dtype: torch.dtype) -> Tensor:
    """Return U Vᵀ of matrix = U S Vᵀ, approximately: singular values between 0.7 and 1.2.

    [M, N] → [M, N] of type `dtype`; a zero matrix stays zero.
    """
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = (matrix.T if is_tall else matrix).to(dtype)
    x = x / x.norm().clamp(min=1e-7)
    # The Gram form needs float32: bf16 is too coarse for the products of polynomials.
    is_wide = x.shape[1] > 2 * x.shape[0] and dtype == torch.float32
    x = _iterate_on_gram(x) if is_wide else _iterate(x)
    return x.T if is_tall else x


def _iterate(x: Tensor) -> Tensor:
    """X ← (a + b XXᵀ + c (XXᵀ)²) X, repeated."""
    a, b, c = _COEFFICIENTS
    for _ in range(_ITERATIONS):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


def _iterate_on_gram(x: Tensor) -> Tensor:
    """Do the same in 0.6 of the time at N = 4 M: only two products have N columns.

    The steps' polynomials P of G = XXᵀ are multiplied among themselves: G ← P G P, Q ← P Q.
    """
    a, b, c = _COEFFICIENTS
    gram = x @ x.T
    polynomials = torch.eye(len(x), dtype=x.dtype, device=x.device)
    for _ in range(_ITERATIONS):
        step = torch.addmm(gram, gram, gram, beta=b, alpha=c)
        step.diagonal().add_(a)
        polynomials = step @ polynomials
        gram = step @ gram @ step
    return polynomials @ x
