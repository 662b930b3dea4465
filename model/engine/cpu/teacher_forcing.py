"""Passes over given targets, a token of each a step, with the kernels that translate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from model.engine.cpu.forward.decoder import NewSentences, decode, gather, join
from model.engine.cpu.forward.slots import (
    Pages,
    Slots,
    make_pages,
    make_slots,
    occupy,
    pages_needed,
)
from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.forward.workspace import Workspace
from model.engine.cpu.kernels.arrays import Floats, Ints
from model.engine.explanations import IdPair


def memory_for(weights: Weights, pairs: Sequence[IdPair]) -> tuple[Slots, Pages]:
    """Return a slot for each pair, in order, with one hypothesis."""
    sizes = [(len(source_ids), len(target_ids)) for source_ids, target_ids in pairs]
    slots = make_slots(len(pairs), max(map(max, sizes)))
    pages = make_pages(weights, sum(pages_needed(source, 1, target) for source, target in sizes))
    for slot, (n_source, n_target) in enumerate(sizes):
        occupy(slots, slot, pages, n_source, 1, 1, n_target, weights.shape.start_id)
    return slots, pages


def forced(
    weights: Weights, work: Workspace, pairs: Sequence[IdPair], slots: Slots, pages: Pages,
    of_self: Floats, of_cross: Floats,
) -> Iterator[tuple[Ints, Ints, Ints]]:  # fmt: skip
    """Feed the targets, a token of each a step; the decoder's output of each step is in work.x.

    Yields the slots, positions and target tokens of its rows.
    """
    targets = [np.array(target_ids, np.int64) for _, target_ids in pairs]
    lengths = np.array([len(target) for target in targets])
    new = NewSentences.of([source_ids for source_ids, _ in pairs], range(len(pairs)))
    join(weights, new, slots, pages, work)
    while n_rows := gather(weights, slots, pages, work):
        decode(weights, n_rows, slots, pages, work, of_self, of_cross)
        in_row = work.row_slot[:n_rows].copy()
        at = slots.length[in_row]
        tokens = np.array([targets[slot][t] for slot, t in zip(in_row, at, strict=True)])
        yield in_row, at, tokens
        slots.latest[in_row, 0] = tokens
        slots.length[in_row] += 1
        slots.active[in_row] = slots.length[in_row] < lengths[in_row]
