"""The finished hypotheses of a sentence, and when it is done: `model.decoding.beam`."""

from __future__ import annotations

import numpy as np

from model.decoding.rules import BEHIND_FINISHED
from model.engine.cpu.forward.rules import FULL, SETTLED_AT_PRESENT, normalisation
from model.engine.cpu.forward.slots import MAX_BEAM, Pages, Slots
from model.engine.cpu.kernels.jit import kernel


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
def finish_behind(slot: int, n_live: int, slots: Slots, pages: Pages) -> None:
    """What lives at the token limit ranks behind all that is finished, in its own order."""
    for lane in range(n_live):
        finish(slot, lane, slots.latest[slot, lane], slots.latest_log_prob[slot, lane],
               np.float32(BEHIND_FINISHED * (lane + 1)), slots, pages)  # fmt: skip


@kernel
def finish_ended(slot: int, eos_id: int, slots: Slots, pages: Pages) -> None:
    """All that lives ends here, at no cost."""
    slots.length[slot] += 1
    divisor = normalisation(slots.length[slot], slots.rule[slot])
    for lane in range(slots.n_live[slot]):
        finish(slot, lane, eos_id, np.float32(0), slots.live[slot, lane] / divisor, slots, pages)


@kernel
def is_settled(slot: int, best: np.float32, slots: Slots) -> bool:
    """Whether the sentence is done, `best` being the highest log-probability of what lives."""
    rule = slots.rule[slot]
    at_limit = best / normalisation(slots.limit[slot], rule)
    if slots.score[slot, slots.n_best[slot] - 1] >= at_limit:
        return True
    worst = slots.score[slot, slots.beam[slot] - 1]
    if rule.stopping == FULL:
        return bool(worst > -np.inf)
    if rule.stopping == SETTLED_AT_PRESENT:
        return bool(worst >= best / normalisation(slots.length[slot], rule))
    return False
