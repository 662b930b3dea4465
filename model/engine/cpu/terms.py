"""The terms that sentences in flight have to say, and how far their hypotheses are with them."""

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
from model.engine.cpu.kernels.types import Flags, Ints, Records
from model.engine.cpu.kernels.untouched import untouched

_MAX_WORDINGS = MAX_CONSTRAINTS * MAX_WORDINGS
"""Of one sentence."""

MAX_ASKED = 1 + _MAX_WORDINGS
"""Tokens whose probability a hypothesis may need: the end of sentence, and of each wording one."""

NO_WORDING = -1

# Records, since each array of its own would take a microsecond to hand to a kernel.

_SENTENCE = np.dtype([("n_terms", np.int64), ("width", np.int64), ("n_wordings", np.int64)])
_TERM = np.dtype([("n_tokens", np.int64), ("is_repeat", np.bool_)], align=True)
_WORDING = np.dtype(
    [("term", np.int64), ("where", np.int64), ("length", np.int64), ("is_closed", np.bool_)],
    align=True,
)
_PROGRESS = [
    ("begun", np.int64), ("within", np.int64), ("position", np.int64), ("history", np.int64),
    ("rank", np.float32), ("after_term", np.bool_),
]  # fmt: skip
_LANE = np.dtype(_PROGRESS, align=True)
_CONTINUATION = np.dtype(
    [*_PROGRESS, ("score", np.float32), ("log_prob", np.float32), ("lane", np.int64),
     ("token", np.int64)],
    align=True,
)  # fmt: skip
_BANK = np.dtype([("n", np.int64), ("taken", np.int64)])
_CHOSEN = np.dtype([("bank", np.int64), ("place", np.int64)])


class Terms(NamedTuple):
    """One row per slot; K is `MAX_BEAM`, C terms, W wordings, T the longest sequence.

    before, behind    [V], see `PieceEdges`
    sentence [n]      n_terms, 0 for one without constraints; width, the hypotheses to keep
    term [n, C]       n_tokens, see `Constraint`; is_repeat: equal to the term before
    wording [n, W]    whose term, where it may stand, its length, whether it is closed
    ids [n, W, T]     the tokens of wordings
    lane [n, K]       how far hypotheses are:
        begun         the terms begun, as bits
        within        the wording that it is in the middle of, or `NO_WORDING`
        position      how many of that wording's tokens it has said
        history       a hash of its tokens
        rank          its log-probability, or that which it had where it began the present term
        after_term    a term just ended, behind which no letter may follow
    continuation [2 C + 1, 2 × MAX_WIDTH]  of one sentence, by bank (see `n_banks`), best first:
                      where they lead, as of a lane; score, log_prob, lane, token
    bank [2 C + 1]    n, how many continuations it has; taken, how many of them were looked at
    chosen [K]        those that live on
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
    """For at most that many slots, and sequences of up to `longest` tokens."""
    most_banks = n_banks(MAX_CONSTRAINTS)
    return Terms(
        before=np.ascontiguousarray(edges.before, np.bool_),
        behind=np.ascontiguousarray(edges.behind, np.bool_),
        sentence=np.zeros(n_slots, _SENTENCE),
        term=np.zeros((n_slots, MAX_CONSTRAINTS), _TERM),
        wording=np.zeros((n_slots, _MAX_WORDINGS), _WORDING),
        ids=untouched((n_slots, _MAX_WORDINGS, longest), np.int64),
        lane=np.zeros((n_slots, MAX_BEAM), _LANE),
        continuation=np.zeros((most_banks, 2 * MAX_WIDTH), _CONTINUATION),
        bank=np.zeros(most_banks, _BANK),
        chosen=np.zeros(MAX_WIDTH, _CHOSEN),
    )


def constrain(terms: Terms, slot: int, constraints: Sequence[Constraint], width: int) -> None:
    """Begin a sentence with these terms, of which equal ones are neighbours; or with none."""
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
