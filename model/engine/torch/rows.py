"""Which hypotheses a step computes.

A batch has N·K places for hypotheses, and not all are taken: a sentence starts with one, some end,
and of others it is known that they cannot come among the n best any more. On a CPU only the rest
go through the products. Elsewhere all do: shapes that differ from step to step would need other
graphs, and idle rows cost next to nothing there.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Rows(NamedTuple):
    """R of N·K hypotheses, in order.

    n_all    N·K
    indices  [R] of them; None: all
    """

    n_all: int
    indices: Tensor | None = None

    def pick(self, x: Tensor) -> Tensor:
        """[N·K, …] → [R, …]."""
        return x if self.indices is None else x.index_select(0, self.indices)

    def spread(self, x: Tensor) -> Tensor:
        """[R, …] → [N·K, …], zero where nothing is computed."""
        if self.indices is None:
            return x
        return x.new_zeros(self.n_all, *x.shape[1:]).index_copy_(0, self.indices, x)

    def drop_others(self, live: Tensor) -> None:
        """Write −∞, for no hypothesis, over all others of [N, K]."""
        if self.indices is None:
            return
        kept = torch.zeros(self.n_all, dtype=torch.bool, device=live.device)
        kept.index_fill_(0, self.indices, value=True)
        live.masked_fill_(~kept.view(live.shape), -torch.inf)
