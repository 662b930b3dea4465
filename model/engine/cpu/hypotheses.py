"""Finished hypotheses, stable prefixes and the end of a search: `model.decoding.beam`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from model.decoding.agreement import agreed_ids
from model.decoding.rules import BEHIND_FINISHED
from model.engine.cpu.forward.slots import (
    FULL,
    MAX_BEAM,
    SETTLED_AT_PRESENT,
    Pages,
    Slots,
    normalisation,
)
from model.engine.cpu.kernels.jit import kernel


@kernel
def finish(
    slot: int, lane: int, token: int, log_prob: np.float32, score: np.float32, slots: Slots,
    pages: Pages,
) -> None:  # fmt: skip
    """Insert a hypothesis, a path followed by `token`, into the K best finished ones."""
    beam, length = slots.beam[slot], slots.length[slot]
    rank = beam
    while rank > 0 and score > slots.score[slot, rank - 1]:
        rank -= 1
    if rank == beam:
        return
    for moved in range(beam - 1, rank, -1):
        n_tokens = slots.n_tokens[slot, moved - 1]
        slots.score[slot, moved] = slots.score[slot, moved - 1]
        slots.n_tokens[slot, moved] = n_tokens
        for t in range(n_tokens):
            slots.tokens[slot, moved, t] = slots.tokens[slot, moved - 1, t]
            slots.log_probs[slot, moved, t] = slots.log_probs[slot, moved - 1, t]
    slots.score[slot, rank] = score
    slots.n_tokens[slot, rank] = length
    # The token fed at position t was produced at step t: position 0 was fed the start symbol.
    for t in range(1, length):
        position = slots.path[slot * MAX_BEAM + lane, t]
        slots.tokens[slot, rank, t - 1] = pages.token[position]
        slots.log_probs[slot, rank, t - 1] = pages.log_prob[position]
    slots.tokens[slot, rank, length - 1] = token
    slots.log_probs[slot, rank, length - 1] = log_prob


@kernel
def finish_behind(slot: int, n_live: int, slots: Slots, pages: Pages) -> None:
    """Rank the hypotheses that live at the token limit after all finished ones, in their order."""
    for lane in range(n_live):
        finish(slot, lane, slots.latest[slot, lane], slots.latest_log_prob[slot, lane],
               np.float32(BEHIND_FINISHED * (lane + 1)), slots, pages)  # fmt: skip


@kernel
def finish_ended(slot: int, eos_id: int, slots: Slots, pages: Pages) -> None:
    """End all live hypotheses, at no cost."""
    slots.length[slot] += 1
    divisor = normalisation(slots.length[slot], slots.rule[slot])
    for lane in range(slots.n_live[slot]):
        finish(slot, lane, eos_id, np.float32(0), slots.live[slot, lane] / divisor, slots, pages)


@kernel
def is_settled(slot: int, best: np.float32, slots: Slots) -> bool:
    """Whether the sentence is done; `best` is the highest live log-probability."""
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


def finished_rows(slots: Slots, slot: int) -> Iterator[tuple[list[int], list[float]]]:
    """Yield ids and log-probabilities of the n best finished hypotheses, best first."""
    if not slots.failed[slot]:
        for rank in range(slots.n_best[slot]):
            if slots.score[slot, rank] > -np.inf:
                yield finished_row(slots, slot, rank)


def finished_row(slots: Slots, slot: int, rank: int) -> tuple[list[int], list[float]]:
    """Return ids and log-probabilities of a finished hypothesis."""
    n = slots.n_tokens[slot, rank]
    return slots.tokens[slot, rank, :n].tolist(), slots.log_probs[slot, rank, :n].tolist()


def stable_prefix(slots: Slots, slot: int, pages: Pages, eos_id: int) -> list[int]:
    """Return the stable prefix of the best hypothesis, between steps; it only grows.

    It is common to the n best finished hypotheses and the live ones that may still join them.
    """
    finished = (ids for ids, _ in finished_rows(slots, slot))
    return agreed_ids((*_live_rows(slots, slot, pages), *finished), {eos_id})


def _live_rows(slots: Slots, slot: int, pages: Pages) -> Iterator[list[int]]:
    length = slots.length[slot]
    worst = slots.score[slot, slots.n_best[slot] - 1]
    at_limit = normalisation(slots.limit[slot], slots.rule[slot])
    for lane in range(slots.n_live[slot]):
        if slots.live[slot, lane] / at_limit > worst:
            # The latest token was not fed yet.
            fed = pages.token[slots.path[slot * MAX_BEAM + lane, 1:length]]
            yield [*fed.tolist(), int(slots.latest[slot, lane])]
