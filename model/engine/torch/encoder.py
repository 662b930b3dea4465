"""Encodes sentences that join, and writes them into their slots, without waiting for the device."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from model.decoding.padding import padded_ids
from model.engine.protocol import Job
from model.engine.torch.decoder import StepDecoder
from model.engine.torch.device import upload
from model.engine.torch.state import State
from model.transformer.transformer import Transformer

MAX_TOKENS = 8192
"""Tokens encoded at once, including padding."""

FREE_PADDING = 8
"""Tokens by which a sentence may be shorter than the longest encoded with it, at any length."""


class NewSentence(NamedTuple):
    """A job that joins, and its slot."""

    job: Job
    slot: int

    @property
    def n_tokens(self) -> int:
        return len(self.job.source_ids)


def by_length(sentences: Sequence[NewSentence]) -> Iterator[list[NewSentence]]:
    """Yield groups, longest first, each to be encoded at once.

    Those of a group are at least two thirds as long as its longest, or nearly as long.
    """
    group: list[NewSentence] = []
    for one in sorted(sentences, key=lambda one: -one.n_tokens):
        longest = group[0].n_tokens if group else one.n_tokens
        is_short = one.n_tokens < min(2 * longest / 3, longest - FREE_PADDING)
        if group and (is_short or longest * (len(group) + 1) > MAX_TOKENS):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def encode_into(
    group: Sequence[NewSentence], model: Transformer, decoder: StepDecoder, state: State
) -> None:
    """Encode sentences and write them into their slots, which are empty."""
    config, device = model.config, model.device
    slots = upload([one.slot for one in group], device)
    ids = padded_ids([one.job.source_ids for one in group], config.pad_id, torch.device("cpu"))
    longest = ids.shape[1]
    states = model.encode(upload(ids.numpy(), device)).states
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
    live = torch.full((len(group), state.sizes.beam), -torch.inf, device=device)
    live[:, 0] = 0
    state.live.index_copy_(0, slots, live)
