"""The sentences in flight: one slot each, with its hypotheses, its rule, and their memory.

A *position* holds one token's keys and values in every decoder layer, along with the token and its
log-probability. Positions come in pages of 16. A hypothesis is the list of its tokens' positions,
so beams with a common prefix share its memory, and reordering beams only copies these lists.
"""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

import numpy as np

from model.decoding.constraints import MAX_WIDTH
from model.decoding.hypothesis import SearchOptions
from model.decoding.processors import MAX_BAD_TOKENS
from model.decoding.rules import AtLimit, Stopping, length_normalisation
from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.kernels.arrays import Flags, Floats, Ints, Records, lazy_zeros
from model.engine.cpu.kernels.jit import brief_kernel, kernel

BEHIND, AS_IT_IS, ENDED = range(3)
SETTLED, FULL, SETTLED_AT_PRESENT = range(3)
"""The values of `Traits.at_limit` and of `Traits.stopping`, in their order there."""

NO_TOKEN = -1
"""In place of an id."""

RULE = np.dtype(
    [("alpha", np.float64), ("length_offset", np.int64), ("at_limit", np.int64),
     ("stopping", np.int64), ("unk_id", np.int64), ("first_id", np.int64),
     ("narrows", np.bool_), ("renormalises", np.bool_)],
    align=True,
)  # fmt: skip
"""`alpha` is the length penalty, `first_id` that of `SearchOptions`; the rest is as in `Traits`."""


PROCESSORS = np.dtype(
    [("min_length", np.int64), ("no_repeat_ngram_size", np.int64), ("n_words", np.int64),
     ("repetition_penalty", np.float32), ("temperature", np.float32), ("is_used", np.bool_),
     ("on_logits", np.bool_), ("counts_start", np.bool_)],
    align=True,
)  # fmt: skip
"""`min_length` includes a given token; `n_words` are the numbers in `Slots.bad_words`; `on_logits`
is `SearchOptions.processes_logits`; `counts_start`: the start symbol is a token of hypotheses."""

COLUMNS_OF_SENTENCE = np.dtype(
    [(name, np.int64) for name in ("n", "ids", "weight", "scale", "bias")]
)
"""The candidates of a sentence with a shortlist: their number and the addresses of arrays; see
`model.engine.cpu.forward.shortlisted`. Without a shortlist the number is 0."""


def rule_record(options: SearchOptions) -> tuple[object, ...]:
    """Return an element of an array of `RULE`."""
    traits = options.traits
    return (
        options.length_penalty,
        traits.length_offset,
        get_args(AtLimit).index(traits.at_limit),
        get_args(Stopping).index(traits.stopping),
        NO_TOKEN if traits.unk_id is None else traits.unk_id,
        NO_TOKEN if options.first_id is None else options.first_id,
        traits.narrows,
        traits.renormalises,
    )


_length_normalisation = kernel(length_normalisation)


@kernel
def normalisation(length: int, rule: Any) -> np.float32:
    """The divisor of the log-probability of `length` tokens; `rule` is a record."""
    return np.float32(_length_normalisation(length, rule.alpha, rule.length_offset))


PAGE = 16
"""Positions of a page."""

MAX_BEAM = MAX_WIDTH
"""Hypotheses of one sentence, as many as a constrained search may keep."""


class Pages(NamedTuple):
    """The memory of all positions, and its free pages.

    A position is the number of its row in the first layer. A page has 16 rows for each layer, one
    layer after the other, so that few sentences take little memory.

    keys, values     [P, D], those of layer l in row p + 16 l; pages that were never used take no
                     physical memory
    token, log_prob  [P], the token that the decoder was fed
    free             a stack of page numbers, n_free[0] of them valid
    rows             of a page in all layers
    """

    keys: Floats
    values: Floats
    token: Ints
    log_prob: Floats
    free: Ints
    n_free: Ints
    rows: int


class Slots(NamedTuple):
    """One row per slot; K is `MAX_BEAM`, T the longest sequence.

    active, failed [n]
    beam, n_best, limit, length [n]    beam size, n best, maximum tokens, tokens so far
    rule [n]                           of its search, see `RULE`
    processors [n]                     of its search, see `PROCESSORS`
    bad_words [n, …]                   of each its length and its tokens
    draws [n, T]                       random numbers of the positions, with a temperature
    columns [n]                        of its candidates, see `COLUMNS_OF_SENTENCE`
    source, source_length [n, T], [n]  positions of the encoder's output
    live [n, K], n_live [n]            log-probabilities of the live hypotheses, best first
    path [n · K, T]                    their positions
    latest, latest_log_prob [n, K]     the token that each is fed next
    page [n, K]                        the page that each lane writes to; −1: none yet
    owned, n_owned [n, …], [n]         the slot's pages
    score, n_tokens [n, K]             the best finished hypotheses, best first; −∞: none
    tokens, log_probs [n, K, T]        of the finished ones
    """

    active: Flags
    failed: Flags
    beam: Ints
    n_best: Ints
    limit: Ints
    length: Ints
    rule: Records
    processors: Records
    bad_words: Ints
    draws: Floats
    columns: Records
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
    """Return n_pages × 16 positions, all free."""
    rows, width = PAGE * weights.decoder.n_layers, weights.shape.d_model
    n_rows = n_pages * rows
    return Pages(
        keys=np.empty((n_rows, width), np.float32),
        values=np.empty((n_rows, width), np.float32),
        token=np.zeros(n_rows, np.int64),
        log_prob=np.zeros(n_rows, np.float32),
        free=np.arange(n_pages, dtype=np.int64)[::-1].copy(),
        n_free=np.array([n_pages], np.int64),
        rows=rows,
    )


def pages_needed(n_source: int, beam: int, limit: int) -> int:
    """Maximum pages of one sentence."""
    return -(-n_source // PAGE) + beam * -(-limit // PAGE)


def make_slots(n_slots: int, longest: int) -> Slots:
    """Return free slots for sequences of up to `longest` tokens."""
    max_pages = pages_needed(longest, MAX_BEAM, longest)

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
        processors=np.zeros(n_slots, PROCESSORS),
        bad_words=lazy_zeros((n_slots, 2 * MAX_BAD_TOKENS), np.int64),
        draws=lazy_zeros((n_slots, longest + 1), np.float64),
        columns=np.zeros(n_slots, COLUMNS_OF_SENTENCE),
        source=ints(longest),
        source_length=ints(),
        live=floats(MAX_BEAM),
        n_live=ints(),
        path=lazy_zeros((n_slots * MAX_BEAM, longest + 1), np.int64),
        latest=ints(MAX_BEAM),
        latest_log_prob=floats(MAX_BEAM),
        page=ints(MAX_BEAM),
        owned=ints(max_pages),
        n_owned=ints(),
        score=floats(MAX_BEAM),
        n_tokens=ints(MAX_BEAM),
        tokens=lazy_zeros((n_slots, MAX_BEAM, longest + 1), np.int64),
        log_probs=lazy_zeros((n_slots, MAX_BEAM, longest + 1), np.float32),
    )


@kernel
def take_page(slots: Slots, slot: int, pages: Pages) -> int:
    """Take a free page for the slot; the engine's capacity guarantees that there is one."""
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
    """Start a sentence, except its rule: positions for its source, and one hypothesis.

    `start_id` is the first token fed.
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
        slots.source[slot, s] = page * pages.rows + s % PAGE
    slots.columns[slot].n = 0
    slots.n_live[slot] = 1
    slots.live[slot, 0] = 0
    slots.latest[slot, 0] = start_id
    slots.latest_log_prob[slot, 0] = 0
    for rank in range(MAX_BEAM):
        slots.score[slot, rank] = -np.inf


@brief_kernel
def vacate(slots: Slots, slot: int, pages: Pages) -> None:
    """Free a slot and its pages."""
    slots.active[slot] = False
    for i in range(slots.n_owned[slot]):
        pages.free[pages.n_free[0]] = slots.owned[slot, i]
        pages.n_free[0] += 1
    slots.n_owned[slot] = 0
