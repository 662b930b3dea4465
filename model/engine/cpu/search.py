"""Beam search over the slots, one step at a time, by the rule of `model.decoding.beam`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from model.engine.cpu.decoder import decode, gather
from model.engine.cpu.jit import kernel
from model.engine.cpu.output import Predictions, make_predictions, predict
from model.engine.cpu.slots import MAX_BEAM, Pages, Slots
from model.engine.cpu.types import Floats, Ints
from model.engine.cpu.weights import Weights
from model.engine.cpu.workspace import Workspace

_BEHIND_FINISHED = np.float32(-1e30)
"""The score of a hypothesis cut at the limit, times its rank."""


class Candidates(NamedTuple):
    """Continuations: of each row, and of one sentence, best first [2 × MAX_BEAM].

    new_path [MAX_BEAM, T] is where paths are reordered.
    """

    next: Predictions
    best_score: Floats
    best_row: Ints
    best_place: Ints
    new_path: Ints
    done: Ints


def make_candidates(n_rows: int, n_slots: int, longest: int) -> Candidates:
    """For at most that many rows and slots."""
    return Candidates(
        next=make_predictions(n_rows, most_wanted=2 * MAX_BEAM, most_asked=1),
        best_score=np.zeros(2 * MAX_BEAM, np.float32),
        best_row=np.zeros(2 * MAX_BEAM, np.int64),
        best_place=np.zeros(2 * MAX_BEAM, np.int64),
        new_path=np.zeros((MAX_BEAM, longest + 1), np.int64),
        done=np.zeros(n_slots, np.int64),
    )


@kernel
def run(
    weights: Weights, slots: Slots, pages: Pages, work: Workspace, candidates: Candidates,
    interrupted: Ints,
) -> int:  # fmt: skip
    """Advance every sentence, a token at a time, until one is over or interrupted[0] is not 0.

    Returns how many are over: their slots are in `done`. (A kernel runs without the interpreter's
    lock, and is not entered for nothing: that alone would take a fifth of a small model's step.)
    """
    while True:
        n_done = _step(weights, slots, pages, work, candidates)
        if n_done or interrupted[0]:
            return n_done


@kernel
def _step(
    weights: Weights, slots: Slots, pages: Pages, work: Workspace, candidates: Candidates
) -> int:
    """Advance every sentence by a token; returns how many are over."""
    n_rows = gather(weights, slots, pages, work)
    decode(weights, n_rows, slots, pages, work, work.no_record, work.no_record)
    for row in range(n_rows):
        beam = slots.beam[work.row_slot[row]]
        candidates.next.n_wanted[row] = 1 if beam == 1 else 2 * beam
    predict(weights.output, n_rows, weights.shape.pad_id, work, candidates.next)
    n_done = row = 0
    while row < n_rows:
        slot = work.row_slot[row]
        n_live = slots.n_live[slot]
        if _advance(slot, row, weights.shape.eos_id, slots, pages, candidates):
            candidates.done[n_done] = slot
            n_done += 1
        row += n_live
    return n_done


@kernel
def _advance(
    slot: int, first_row: int, eos_id: int, slots: Slots, pages: Pages, candidates: Candidates
) -> bool:
    """Choose among the continuations of one sentence. Returns whether it is over."""
    beam = slots.beam[slot]
    n_candidates = _merge(slot, first_row, slots, candidates)
    slots.length[slot] += 1
    length = slots.length[slot]
    normalisation = length_normalisation(length, slots.alpha[slot])
    n_live = 0
    for rank in range(n_candidates):
        row = candidates.best_row[rank]
        place = candidates.best_place[rank]
        lane, token = row - first_row, candidates.next.tokens[row, place]
        score, log_prob = candidates.best_score[rank], candidates.next.log_probs[row, place]
        if not np.isfinite(score):
            slots.failed[slot] = True
            return True
        if token == eos_id:
            if rank < beam:
                _finish(slot, lane, token, log_prob, score / normalisation, slots, pages)
        elif n_live < beam:
            for t in range(length):
                candidates.new_path[n_live, t] = slots.path[slot * MAX_BEAM + lane, t]
            slots.live[slot, n_live] = score
            slots.latest[slot, n_live] = token
            slots.latest_log_prob[slot, n_live] = log_prob
            n_live += 1
    if n_candidates == 0:
        slots.failed[slot] = True
        return True
    for lane in range(n_live):
        for t in range(length):
            slots.path[slot * MAX_BEAM + lane, t] = candidates.new_path[lane, t]
    slots.n_live[slot] = n_live
    if length >= slots.limit[slot]:
        for lane in range(n_live):
            _finish(slot, lane, slots.latest[slot, lane], slots.latest_log_prob[slot, lane],
                    _BEHIND_FINISHED * np.float32(lane + 1), slots, pages)  # fmt: skip
        return True
    if n_live == 0 or (beam == 1 and slots.score[slot, 0] > -np.inf):
        return True
    at_limit = slots.live[slot, 0] / length_normalisation(slots.limit[slot], slots.alpha[slot])
    return bool(slots.score[slot, slots.n_best[slot] - 1] >= at_limit)


@kernel
def _merge(slot: int, first_row: int, slots: Slots, candidates: Candidates) -> int:
    """The best 2K continuations over all living hypotheses, in order; returns how many.

    If any is NaN, it is the only one, so that it cannot be overlooked.
    """
    wanted = candidates.next.n_wanted[first_row]
    n_found = 0
    for lane in range(slots.n_live[slot]):
        row = first_row + lane
        for place in range(wanted):
            score = slots.live[slot, lane] + candidates.next.log_probs[row, place]
            if score == -np.inf:
                break
            if np.isnan(score):
                candidates.best_score[0] = score
                candidates.best_row[0], candidates.best_place[0] = row, place
                return 1
            at = n_found
            while at > 0 and score > candidates.best_score[at - 1]:
                at -= 1
            if at >= wanted:
                break
            n_found = min(n_found + 1, wanted)
            for moved in range(n_found - 1, at, -1):
                candidates.best_score[moved] = candidates.best_score[moved - 1]
                candidates.best_row[moved] = candidates.best_row[moved - 1]
                candidates.best_place[moved] = candidates.best_place[moved - 1]
            candidates.best_score[at] = score
            candidates.best_row[at] = row
            candidates.best_place[at] = place
    return n_found


@kernel
def _finish(
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
def length_normalisation(length: int, alpha: float) -> np.float32:
    """lp(Y) of Wu et al. 2016; see `model.decoding.hypothesis`."""
    return np.float32(((5 + length) / 6) ** alpha)
