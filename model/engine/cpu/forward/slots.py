"""The sentences in flight: one slot each, with its hypotheses and where their memory is.

A *position* is a place for one token's keys and values in every decoder layer, along with the
token and its log-probability. Positions come in pages of 16. A hypothesis is the list of the
positions of its tokens, so that beams that share a beginning share its memory, and reordering
beams copies these lists and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.decoding.constraints import MAX_WIDTH
from model.engine.cpu.forward.rules import RULE
from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.kernels.jit import brief_kernel, kernel
from model.engine.cpu.kernels.types import Floats, Ints, Records
from model.engine.cpu.kernels.untouched import untouched

PAGE = 16
"""Positions that are allotted together."""

MAX_BEAM = MAX_WIDTH
"""Hypotheses of one sentence: as many as a constrained search may keep."""


class Pages(NamedTuple):
    """The memory of all positions P, and which pages of it are free.

    keys, values  [layers · P, D], P being all positions; untouched pages take no physical memory
    token         [P], what the decoder was fed there
    log_prob      [P], of that token
    free          a stack of page numbers, of which n_free[0] are there
    """

    keys: Floats
    values: Floats
    token: Ints
    log_prob: Floats
    free: Ints
    n_free: Ints


class Slots(NamedTuple):
    """One row per slot; K is `MAX_BEAM`, T the longest sequence.

    active, failed [n]
    beam, n_best, limit, length [n]  width, answers wanted, most tokens, tokens so far
    rule [n]                   of its search, see `rules.RULE`
    source, source_length [n, T], [n]  positions of the encoder's output
    live [n, K], n_live [n]    log-probabilities of the living hypotheses, best first
    path [n · K, T]            their positions
    latest, latest_log_prob [n, K]     the token that each is to be fed next
    page [n, K]                where each lane writes now; −1: nowhere yet
    owned, n_owned [n, …], [n] pages to give back
    score, n_tokens [n, K]     the best finished hypotheses, best first; −∞: none
    tokens, log_probs [n, K, T]        of the finished
    """

    active: NDArray[np.bool_]
    failed: NDArray[np.bool_]
    beam: Ints
    n_best: Ints
    limit: Ints
    length: Ints
    rule: Records
    source: Ints
    source_length: Ints
    live: Floats
    n_live: Ints
    path: Ints
    latest: Ints
    latest_log_prob: Floats
    page: Ints
    owned: Ints
    n_owned: Ints
    score: Floats
    n_tokens: Ints
    tokens: Ints
    log_probs: Floats


def make_pages(weights: Weights, n_pages: int) -> Pages:
    """Room for n_pages × 16 positions."""
    n_layers, width = weights.decoder.n_layers, weights.shape.d_model
    n_positions = n_pages * PAGE
    return Pages(
        keys=np.empty((n_layers * n_positions, width), np.float32),
        values=np.empty((n_layers * n_positions, width), np.float32),
        token=np.zeros(n_positions, np.int64),
        log_prob=np.zeros(n_positions, np.float32),
        free=np.arange(n_pages, dtype=np.int64)[::-1].copy(),
        n_free=np.array([n_pages], np.int64),
    )


def pages_needed(n_source: int, beam: int, limit: int) -> int:
    """At most, of one sentence."""
    return -(-n_source // PAGE) + beam * -(-limit // PAGE)


def make_slots(n_slots: int, longest: int) -> Slots:
    """All free, for sequences of up to `longest` tokens."""
    most_pages = pages_needed(longest, MAX_BEAM, longest)

    def ints(*shape: int) -> Ints:
        return np.zeros((n_slots, *shape), np.int64)

    def floats(*shape: int) -> Floats:
        return np.zeros((n_slots, *shape), np.float32)

    return Slots(
        active=np.zeros(n_slots, np.bool_),
        failed=np.zeros(n_slots, np.bool_),
        beam=ints(),
        n_best=ints(),
        limit=ints(),
        length=ints(),
        rule=np.zeros(n_slots, RULE),
        source=ints(longest),
        source_length=ints(),
        live=floats(MAX_BEAM),
        n_live=ints(),
        path=untouched((n_slots * MAX_BEAM, longest + 1), np.int64),
        latest=ints(MAX_BEAM),
        latest_log_prob=floats(MAX_BEAM),
        page=ints(MAX_BEAM),
        owned=ints(most_pages),
        n_owned=ints(),
        score=floats(MAX_BEAM),
        n_tokens=ints(MAX_BEAM),
        tokens=untouched((n_slots, MAX_BEAM, longest + 1), np.int64),
        log_probs=untouched((n_slots, MAX_BEAM, longest + 1), np.float32),
    )


@kernel
def take_page(slots: Slots, slot: int, pages: Pages) -> int:
    """A free page, now the slot's. There is one: the engine admits no more than fits."""
    pages.n_free[0] -= 1
    page = int(pages.free[pages.n_free[0]])
    slots.owned[slot, slots.n_owned[slot]] = page
    slots.n_owned[slot] += 1
    return page


@brief_kernel
def occupy(
    slots: Slots, slot: int, pages: Pages, n_source: int, beam: int, n_best: int, limit: int,
    start_id: int,
) -> None:  # fmt: skip
    """Begin a sentence, but for its rule: positions for its source, one hypothesis.

    What that is fed first is `start_id`.
    """
    slots.active[slot] = True
    slots.failed[slot] = False
    slots.beam[slot] = beam
    slots.n_best[slot] = n_best
    slots.limit[slot] = limit
    slots.length[slot] = 0
    slots.n_owned[slot] = 0
    slots.source_length[slot] = n_source
    page = 0
    for s in range(n_source):
        if s % PAGE == 0:
            page = take_page(slots, slot, pages)
        slots.source[slot, s] = page * PAGE + s % PAGE
    slots.n_live[slot] = 1
    slots.live[slot, 0] = 0
    slots.latest[slot, 0] = start_id
    slots.latest_log_prob[slot, 0] = 0
    for place in range(MAX_BEAM):
        slots.score[slot, place] = -np.inf


@brief_kernel
def vacate(slots: Slots, slot: int, pages: Pages) -> None:
    """Give a slot and its pages back."""
    slots.active[slot] = False
    for i in range(slots.n_owned[slot]):
        pages.free[pages.n_free[0]] = slots.owned[slot, i]
        pages.n_free[0] += 1
    slots.n_owned[slot] = 0
