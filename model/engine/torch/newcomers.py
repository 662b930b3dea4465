"""Encodes sentences that join, and writes them into their slots. Starts work, waits for none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from model.engine.protocol import Job
from model.engine.torch.decoder import StepDecoder
from model.engine.torch.state import State
from model.engine.torch.transfers import upload
from model.transformer.transformer import Transformer

MAX_TOKENS = 8192
"""Encoded at once, padding included."""

FREE_PADDING = 8
"""Tokens by which any sentence may be shorter than the longest that is encoded beside it."""


class Newcomer(NamedTuple):
    """A job, and the slot that it was given."""

    job: Job
    slot: int

    @property
    def n_tokens(self) -> int:
        """Source tokens."""
        return len(self.job.source_ids)


def by_length(newcomers: Sequence[Newcomer]) -> Iterator[list[Newcomer]]:
    """Yield groups, longest first, each to be encoded at once.

    Those of a group are at least two thirds as long as its longest, or nearly as long.
    """
    group: list[Newcomer] = []
    for one in sorted(newcomers, key=lambda one: -one.n_tokens):
        longest = group[0].n_tokens if group else one.n_tokens
        is_short = one.n_tokens < min(2 * longest / 3, longest - FREE_PADDING)
        if group and (is_short or longest * (len(group) + 1) > MAX_TOKENS):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def seat(group: Sequence[Newcomer], model: Transformer, decoder: StepDecoder, state: State) -> None:
    """Encode sentences and write them into their slots, which are empty."""
    config, device = model.config, model.device
    slots = upload([one.slot for one in group], device)
    longest = max(one.n_tokens for one in group)
    ids = np.full((len(group), longest), config.pad_id, np.int64)
    for row, one in enumerate(group):
        ids[row, : one.n_tokens] = one.job.source_ids
    states = model.encode(upload(ids, device)).states
    for memory, projected in zip(state.memory, decoder.project_memory(states), strict=True):
        memory[:, :longest].index_copy_(0, slots, projected)
        memory[:, longest:].index_fill_(0, slots, 0)
    first_ids = [one.job.options.first_id for one in group]
    first = upload([-1 if first_id is None else first_id for first_id in first_ids], device)
    lengths = upload([one.n_tokens for one in group], device)
    state.source_length.index_copy_(0, slots, lengths)
    state.first.index_copy_(0, slots, first)
    state.length.index_fill_(0, slots, 0)
    state.ancestors.index_fill_(0, slots, value=False)
    state.latest.index_fill_(0, slots, config.start_id)
    alone = torch.full((len(group), state.sizes.beam), -torch.inf, device=device)
    alone[:, 0] = 0
    state.live.index_copy_(0, slots, alone)
