"""What is certain of a translation before it is done."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from model.decoding.agreement import agreed_ids
from model.engine.cpu.forward.rules import normalisation
from model.engine.cpu.forward.slots import MAX_BEAM, Pages, Slots


def agreed_in_slot(slots: Slots, slot: int, pages: Pages, eos_id: int) -> list[int]:
    """The longest beginning that the best hypothesis is sure to have; it only grows.

    The best at the end is one of the n best that are finished now, or goes on from one that lives
    and may still come among those; this is the beginning that all of these share. To be asked
    between steps, after the first.
    """
    rows = (*_living(slots, slot, pages), *_finished(slots, slot))
    return agreed_ids(rows, {eos_id})


def _living(slots: Slots, slot: int, pages: Pages) -> Iterator[list[int]]:
    length = slots.length[slot]
    worst = slots.score[slot, slots.n_best[slot] - 1]
    at_limit = normalisation(slots.limit[slot], slots.rule[slot])
    for lane in range(slots.n_live[slot]):
        if slots.live[slot, lane] / at_limit > worst:
            # What was fed at position t was produced at step t; the latest was not fed yet.
            fed = pages.token[slots.path[slot * MAX_BEAM + lane, 1:length]]
            yield [*fed.tolist(), int(slots.latest[slot, lane])]


def _finished(slots: Slots, slot: int) -> Iterator[list[int]]:
    for place in range(slots.n_best[slot]):
        if slots.score[slot, place] > -np.inf:
            yield slots.tokens[slot, place, : slots.n_tokens[slot, place]].tolist()
