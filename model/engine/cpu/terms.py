"""The terms that sentences in flight have to say, and how far their hypotheses are with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.decoding.constraints import (
    MAX_CONSTRAINTS,
    MAX_WIDTH,
    MAX_WORDINGS,
    Constraint,
    PieceEdges,
    n_banks,
)
from model.engine.cpu.slots import MAX_BEAM
from model.engine.cpu.types import Floats, Ints

Flags = NDArray[np.bool_]

_MAX_WORDINGS = MAX_CONSTRAINTS * MAX_WORDINGS
"""Of one sentence."""

MAX_ASKED = 1 + _MAX_WORDINGS
"""Tokens whose probability a hypothesis may need: the end of sentence, and of each wording one."""


class Banks(NamedTuple):
    """Continuations by bank [2 C + 1, 2 × MAX_WIDTH], best first; see `n_banks`.

    n [2 C + 1]                    how many there are
    taken [2 C + 1]                how many of them were looked at
    rank                           what they are compared by, see `Terms`
    score, lane, token, log_prob   as of `Candidates`
    begun … history                where they lead, see `Terms`
    chosen_bank, chosen_place [MAX_WIDTH]  those that live on
    """

    n: Ints
    taken: Ints
    rank: Floats
    score: Floats
    lane: Ints
    token: Ints
    log_prob: Floats
    begun: Ints
    within: Ints
    position: Ints
    after_term: Flags
    history: Ints
    chosen_bank: Ints
    chosen_place: Ints


class Terms(NamedTuple):
    """One row per slot; K is `MAX_BEAM`, C terms, W wordings, T the longest sequence.

    before, behind     [V], see `PieceEdges`
    n_terms, width [n]                 0 terms: searched without constraints; hypotheses to keep
    n_tokens, is_repeat [n, C]         see `Constraint.n_tokens`; equal to the term before
    n_wordings [n]
    term, where, is_closed, length [n, W]     of each wording
    ids [n, W, T]                      its tokens
    begun, within, position [n, K]     of a hypothesis: the terms begun, as bits; the wording that
                                       it is in the middle of, or −1; that wording's tokens said
    after_term [n, K]                  a term just ended, behind which no letter may follow
    history [n, K]                     a hash of its tokens
    rank [n, K]                        its log-probability, or that which it had where it began the
                                       term that it is in the middle of
    asked_for [R, A]                   the wording that a token is asked for; −1: the end
    banks                              the continuations of one sentence
    """

    before: Flags
    behind: Flags
    n_terms: Ints
    width: Ints
    n_tokens: Ints
    is_repeat: Flags
    n_wordings: Ints
    term: Ints
    where: Ints
    is_closed: Flags
    length: Ints
    ids: Ints
    begun: Ints
    within: Ints
    position: Ints
    after_term: Flags
    history: Ints
    rank: Floats
    asked_for: Ints
    banks: Banks


def make_terms(n_slots: int, n_rows: int, longest: int, edges: PieceEdges) -> Terms:
    """For at most that many slots and rows, and sequences of up to `longest` tokens."""

    def ints(*shape: int) -> Ints:
        return np.zeros((n_slots, *shape), np.int64)

    bank = (n_banks(MAX_CONSTRAINTS), 2 * MAX_WIDTH)
    return Terms(
        before=np.ascontiguousarray(edges.before, np.bool_),
        behind=np.ascontiguousarray(edges.behind, np.bool_),
        n_terms=ints(),
        width=ints(),
        n_tokens=ints(MAX_CONSTRAINTS),
        is_repeat=np.zeros((n_slots, MAX_CONSTRAINTS), np.bool_),
        n_wordings=ints(),
        term=ints(_MAX_WORDINGS),
        where=ints(_MAX_WORDINGS),
        is_closed=np.zeros((n_slots, _MAX_WORDINGS), np.bool_),
        length=ints(_MAX_WORDINGS),
        ids=ints(_MAX_WORDINGS, longest),
        begun=ints(MAX_BEAM),
        within=ints(MAX_BEAM),
        position=ints(MAX_BEAM),
        after_term=np.zeros((n_slots, MAX_BEAM), np.bool_),
        history=ints(MAX_BEAM),
        rank=np.zeros((n_slots, MAX_BEAM), np.float32),
        asked_for=np.zeros((n_rows, MAX_ASKED), np.int64),
        banks=Banks(
            n=np.zeros(bank[0], np.int64),
            taken=np.zeros(bank[0], np.int64),
            rank=np.zeros(bank, np.float32),
            score=np.zeros(bank, np.float32),
            lane=np.zeros(bank, np.int64),
            token=np.zeros(bank, np.int64),
            log_prob=np.zeros(bank, np.float32),
            begun=np.zeros(bank, np.int64),
            within=np.zeros(bank, np.int64),
            position=np.zeros(bank, np.int64),
            after_term=np.zeros(bank, np.bool_),
            history=np.zeros(bank, np.int64),
            chosen_bank=np.zeros(MAX_WIDTH, np.int64),
            chosen_place=np.zeros(MAX_WIDTH, np.int64),
        ),
    )


def constrain(terms: Terms, slot: int, constraints: Sequence[Constraint], width: int) -> None:
    """Begin a sentence with these terms, of which equal ones are neighbours; or with none."""
    terms.n_terms[slot] = len(constraints)
    terms.width[slot] = width
    n = 0
    for index, constraint in enumerate(constraints):
        terms.n_tokens[slot, index] = constraint.n_tokens
        terms.is_repeat[slot, index] = index > 0 and constraints[index - 1] == constraint
        for wording in constraint.wordings:
            length = len(wording.ids)
            if length <= terms.ids.shape[2]:
                terms.term[slot, n] = index
                terms.where[slot, n] = wording.where
                terms.is_closed[slot, n] = wording.closed
                terms.length[slot, n] = length
                terms.ids[slot, n, :length] = wording.ids
                n += 1
    terms.n_wordings[slot] = n
    terms.begun[slot, 0] = terms.position[slot, 0] = terms.history[slot, 0] = 0
    terms.within[slot, 0] = -1
    terms.after_term[slot, 0] = False
