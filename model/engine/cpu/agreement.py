"""What is certain of a translation before it is done."""

from __future__ import annotations

import numpy as np

from model.engine.cpu.slots import MAX_BEAM, Pages, Slots
from model.engine.cpu.types import Ints


def agreed_ids(slots: Slots, slot: int, pages: Pages) -> list[int]:
    """The longest beginning that the best hypothesis is sure to have; it only grows.

    The best at the end is one of the n best that are finished now, or goes on from one that lives;
    this is the beginning that all of these share. To be asked between steps, after the first.
    """
    length = slots.length[slot]
    lanes = slice(slot * MAX_BEAM, slot * MAX_BEAM + slots.n_live[slot])
    # What was fed at position t was produced at step t; the latest was not fed yet.
    fed = pages.token[slots.path[lanes, 1:length]]
    living = np.column_stack((fed, slots.latest[slot, : slots.n_live[slot]]))
    n_agreed = _n_alike(living)
    for place in range(slots.n_best[slot]):
        if slots.score[slot, place] == -np.inf:
            break
        n_agreed = min(n_agreed, int(slots.n_tokens[slot, place]))
        finished = slots.tokens[slot, place, :n_agreed]
        # What lives has no end of sentence, so that the two differ there at the latest.
        n_agreed = _n_alike(np.stack((living[0, :n_agreed], finished)))
    ids: list[int] = living[0, :n_agreed].tolist()
    return ids


def _n_alike(rows: Ints) -> int:
    """Columns, from the first on, in each of which all rows have the same token."""
    alike = (rows == rows[0]).all(axis=0)
    return len(alike) if alike.all() else int(alike.argmin())
