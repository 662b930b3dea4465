"""The terms that sentences in flight must contain, and the progress of their hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from model.decoding.constraints import (
    MAX_CONSTRAINTS,
    MAX_WIDTH,
    MAX_WORDINGS,
    Constraint,
    PieceEdges,
    n_banks,
)
from model.engine.cpu.forward.slots import MAX_BEAM
from model.engine.cpu.kernels.arrays import Flags, Ints, Records, lazy_zeros

_SENTENCE_WORDINGS = MAX_CONSTRAINTS * MAX_WORDINGS
"""Maximum wordings of one sentence."""

MAX_NAMED = 1 + _SENTENCE_WORDINGS
"""Tokens whose probability a hypothesis may need: the end of sentence and one of each wording."""

NO_WORDING = -1

# Records, since each separate array would take a microsecond to pass to a kernel.

_SENTENCE = np.dtype([("n_terms", np.int64), ("width", np.int64), ("n_wordings", np.int64)])
_TERM = np.dtype([("n_tokens", np.int64), ("is_repeat", np.bool_)], align=True)
_WORDING = np.dtype(
    [("term", np.int64), ("where", np.int64), ("length", np.int64), ("is_closed", np.bool_)],
    align=True,
)
_PROGRESS = [
    ("started", np.int64), ("within", np.int64), ("position", np.int64), ("history", np.int64),
    ("rank", np.float32), ("after_term", np.bool_),
]  # fmt: skip
_LANE = np.dtype(_PROGRESS, align=True)
_CONTINUATION = np.dtype(
    [*_PROGRESS, ("score", np.float32), ("log_prob", np.float32), ("lane", np.int64),
     ("token", np.int64)],
    align=True,
)  # fmt: skip
_BANK = np.dtype([("n", np.int64), ("next", np.int64)])
_CHOSEN = np.dtype([("bank", np.int64), ("index", np.int64)])


class Terms(NamedTuple):
    """One row per slot; K is `MAX_BEAM`, C terms, W wordings, T the longest sequence.

    before, behind    [V], see `PieceEdges`
    sentence [n]      n_terms, 0 without constraints; width, the hypotheses to keep
    term [n, C]       n_tokens, see `Constraint`; is_repeat: equal to the term before
    wording [n, W]    its term, where it may appear, its length, whether it is closed
    ids [n, W, T]     the tokens of wordings
    lane [n, K]       the progress of hypotheses:
        started       the started terms, as bits
        within        the wording in progress, or `NO_WORDING`
        position      the number of its tokens so far
        history       a hash of the hypothesis's tokens
        rank          its log-probability, within a term that at the term's start
        after_term    a term just ended that no letter may follow
    continuation [2 C + 1, 2 × MAX_WIDTH]  of one sentence, by bank (see `n_banks`), best first:
                      the progress they lead to; score, log_prob, lane, token
    bank [2 C + 1]    n, the number of its continuations; next, the first not yet considered
    chosen [K]        the surviving continuations
    """

    before: Flags
    behind: Flags
    sentence: Records
    term: Records
    wording: Records
    ids: Ints
    lane: Records
    continuation: Records
    bank: Records
    chosen: Records


def make_terms(n_slots: int, longest: int, edges: PieceEdges) -> Terms:
    """For at most `n_slots` slots, and sequences of up to `longest` tokens."""
    max_banks = n_banks(MAX_CONSTRAINTS)
    return Terms(
        before=np.ascontiguousarray(edges.before, np.bool_),
        behind=np.ascontiguousarray(edges.behind, np.bool_),
        sentence=np.zeros(n_slots, _SENTENCE),
        term=np.zeros((n_slots, MAX_CONSTRAINTS), _TERM),
        wording=np.zeros((n_slots, _SENTENCE_WORDINGS), _WORDING),
        ids=lazy_zeros((n_slots, _SENTENCE_WORDINGS, longest), np.int64),
        lane=np.zeros((n_slots, MAX_BEAM), _LANE),
        continuation=np.zeros((max_banks, 2 * MAX_WIDTH), _CONTINUATION),
        bank=np.zeros(max_banks, _BANK),
        chosen=np.zeros(MAX_WIDTH, _CHOSEN),
    )


def constrain(terms: Terms, slot: int, constraints: Sequence[Constraint], width: int) -> None:
    """Start a sentence with these terms, equal ones adjacent, or with none."""
    n = 0
    for index, constraint in enumerate(constraints):
        is_repeat = index > 0 and constraints[index - 1] == constraint
        terms.term[slot, index] = (constraint.n_tokens, is_repeat)
        for wording in constraint.wordings:
            length = len(wording.ids)
            if length <= terms.ids.shape[2]:
                terms.wording[slot, n] = (index, wording.where, length, wording.closed)
                terms.ids[slot, n, :length] = wording.ids
                n += 1
    terms.sentence[slot] = (len(constraints), width, n)
    terms.lane[slot, 0] = (0, NO_WORDING, 0, 0, 0.0, False)
