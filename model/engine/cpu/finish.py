"""The finished hypotheses of a sentence, by the rule of `model.decoding.beam`."""

from __future__ import annotations

import numpy as np

from model.engine.cpu.jit import kernel
from model.engine.cpu.slots import MAX_BEAM, Pages, Slots

BEHIND_FINISHED = np.float32(-1e30)
"""The score of a hypothesis cut at the limit, times its rank."""


@kernel
def finish(
    slot: int, lane: int, token: int, log_prob: np.float32, score: np.float32, slots: Slots,
    pages: Pages,
) -> None:  # fmt: skip
    """Put a hypothesis among the finished, if it is one of the K best: its path, then `token`."""
    beam, length = slots.beam[slot], slots.length[slot]
    place = beam
    while place > 0 and score > slots.score[slot, place - 1]:
        place -= 1
    if place == beam:
        return
    for moved in range(beam - 1, place, -1):
        n_tokens = slots.n_tokens[slot, moved - 1]
        slots.score[slot, moved] = slots.score[slot, moved - 1]
        slots.n_tokens[slot, moved] = n_tokens
        for t in range(n_tokens):
            slots.tokens[slot, moved, t] = slots.tokens[slot, moved - 1, t]
            slots.log_probs[slot, moved, t] = slots.log_probs[slot, moved - 1, t]
    slots.score[slot, place] = score
    slots.n_tokens[slot, place] = length
    # What was fed at position t was produced at step t: position 0 was fed the start symbol.
    for t in range(1, length):
        position = slots.path[slot * MAX_BEAM + lane, t]
        slots.tokens[slot, place, t - 1] = pages.token[position]
        slots.log_probs[slot, place, t - 1] = pages.log_prob[position]
    slots.tokens[slot, place, length - 1] = token
    slots.log_probs[slot, place, length - 1] = log_prob


@kernel
def length_normalisation(length: int, alpha: float) -> np.float32:
    """lp(Y) of Wu et al. 2016; see `model.decoding.hypothesis`."""
    return np.float32(((5 + length) / 6) ** alpha)
