"""The sentences in flight on the device: one slot each, in tensors that are written in place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import torch
from torch import Tensor

from model.transformer.config import TransformerConfig


class Sizes(NamedTuple):
    """Sizes of a state: slots N, hypotheses per slot K, target positions T, source positions S."""

    slots: int
    beam: int
    target: int
    source: int


@dataclass(frozen=True)
class State:
    """Tensors of N slots, each of which is one sentence with K hypotheses, or empty.

    live           [N, K] log-probability of each hypothesis, best first; −∞: none
    latest         [N, K] the token that it is fed next
    length         [N] tokens fed so far; in an empty slot any number
    first          [N] the given first token of the translation; −1: the model chooses
    ancestors      [N, K, T·K] the cache positions that belong to each hypothesis
    cache          per decoder layer [N, T, K·2D]: keys and values of the tokens fed, 2D for each
                   hypothesis, regardless of which ones continue it; of an SSRU its state and zeros
    memory         per decoder layer [N, S, 2D]: keys and values of the encoder's output
    source_length  [N], at least 1
    report         [N, …] int32, read by the host after a step; see `search`

    Unused keys and values are finite too: attention multiplies masked ones by zero.
    """

    sizes: Sizes
    live: Tensor
    latest: Tensor
    length: Tensor
    first: Tensor
    ancestors: Tensor
    cache: Sequence[Tensor]
    memory: Sequence[Tensor]
    source_length: Tensor
    report: Tensor

    @classmethod
    def empty(
        cls,
        sizes: Sizes,
        config: TransformerConfig,
        report_width: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> State:
        n, k, t, s = sizes.slots, sizes.beam, sizes.target, sizes.source
        layers, width = range(config.n_decoder_layers), 2 * config.d_model

        def zeros(*shape: int, kind: torch.dtype = dtype) -> Tensor:
            return torch.zeros(shape, dtype=kind, device=device)

        return cls(
            sizes,
            live=zeros(n, k, kind=torch.float32).fill_(-torch.inf),
            latest=zeros(n, k, kind=torch.int64),
            length=zeros(n, kind=torch.int64),
            first=zeros(n, kind=torch.int64),
            ancestors=zeros(n, k, t * k, kind=torch.bool),
            cache=[zeros(n, t, k * width) for _ in layers],
            memory=[zeros(n, s, width) for _ in layers],
            source_length=torch.ones(n, dtype=torch.int64, device=device),
            report=zeros(n, report_width, kind=torch.int32),
        )

    def tensors(self) -> Iterator[Tensor]:
        """Yield all tensors, each with the slots as its first dimension."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                yield value
            elif isinstance(value, list):
                yield from value

    @property
    def n_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.tensors())

    def copy_from(self, other: State) -> None:
        """Copy all slots of a state of which no size is larger."""
        for mine, theirs in zip(self.tensors(), other.tensors(), strict=True):
            mine[tuple(slice(size) for size in theirs.shape)] = theirs

    def move(self, source: Tensor, target: Tensor) -> None:
        """Copy the slots `source` [M] to other slots, `target` [M]."""
        for tensor in self.tensors():
            tensor.index_copy_(0, target, tensor.index_select(0, source))

    def clear(self, slots: Tensor) -> None:
        """Zero the keys and values of slots [M], which may not be finite."""
        for tensor in (*self.cache, *self.memory):
            tensor.index_fill_(0, slots, 0)

    def window(self, low: int, high: int, n_target: int, n_source: int) -> State:
        """Return writable views of the slots low … high − 1 and their first positions."""
        sizes = Sizes(high - low, self.sizes.beam, n_target, n_source)
        return replace(
            self,
            sizes=sizes,
            live=self.live[low:high],
            latest=self.latest[low:high],
            length=self.length[low:high],
            first=self.first[low:high],
            ancestors=self.ancestors[low:high, :, : n_target * sizes.beam],
            cache=[tensor[low:high, :n_target] for tensor in self.cache],
            memory=[tensor[low:high, :n_source] for tensor in self.memory],
            source_length=self.source_length[low:high],
            report=self.report[low:high],
        )
