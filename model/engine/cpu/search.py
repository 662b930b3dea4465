"""Search over the slots, one step at a time, as `model.decoding.beam` does by each slot's rule.

Sentences with constraints are advanced by `model.engine.cpu.constrained` instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from model.decoding.hypothesis import SearchLimits, SearchOptions
from model.decoding.processors import N_SAMPLED
from model.engine.cpu.constrained import advance_constrained, name_tokens
from model.engine.cpu.forward.decoder import NewSentences, decode, gather, join, start
from model.engine.cpu.forward.output import Predictions, make_predictions, predict
from model.engine.cpu.forward.shortlisted import OutputColumns, allocate_columns
from model.engine.cpu.forward.slots import (
    AS_IT_IS,
    BEHIND,
    ENDED,
    MAX_BEAM,
    SETTLED,
    Pages,
    Slots,
    normalisation,
    occupy,
    rule_record,
)
from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.forward.workspace import Workspace
from model.engine.cpu.hypotheses import finish, finish_behind, finish_ended, is_settled
from model.engine.cpu.kernels.arrays import Floats, Ints
from model.engine.cpu.kernels.jit import kernel
from model.engine.cpu.kernels.work_queue import close_if_busy
from model.engine.cpu.processors import draw, list_edits, set_processors
from model.engine.cpu.terms import MAX_NAMED, Terms, constrain


class Candidates(NamedTuple):
    """Continuations of each row, and the best of one sentence [2 × MAX_BEAM], best first.

    best_rank           of each, its rank among the continuations of its row
    new_path            [MAX_BEAM, T], the reordered paths
    done                [n], the slots whose sentences ended in a step
    """

    next: Predictions
    best_score: Floats
    best_row: Ints
    best_rank: Ints
    new_path: Ints
    done: Ints


def make_candidates(n_rows: int, n_slots: int, longest: int) -> Candidates:
    """For at most `n_rows` rows and `n_slots` slots."""
    return Candidates(
        next=make_predictions(n_rows, 2 * MAX_BEAM, MAX_NAMED, longest),
        best_score=np.zeros(2 * MAX_BEAM, np.float32),
        best_row=np.zeros(2 * MAX_BEAM, np.int64),
        best_rank=np.zeros(2 * MAX_BEAM, np.int64),
        new_path=np.zeros((MAX_BEAM, longest + 1), np.int64),
        done=np.zeros(n_slots, np.int64),
    )


def start_sentence(
    weights: Weights, slots: Slots, slot: int, pages: Pages, terms: Terms,
    source_ids: Sequence[int], options: SearchOptions, limits: SearchLimits,
) -> OutputColumns | None:  # fmt: skip
    """Start a sentence in a free slot; it is encoded by the next `run`.

    With a shortlist, returns the memory of its output layer, to be kept until it leaves.
    """
    occupy(
        slots, slot, pages, len(source_ids), options.beam_size, options.n_best, limits.n_tokens,
        weights.shape.start_id,
    )  # fmt: skip
    slots.rule[slot] = rule_record(options)
    set_processors(slots, slot, source_ids, options, limits)
    constrain(terms, slot, limits.constraints, limits.width)
    if options.shortlist is None:
        return None
    ids = options.shortlist.candidates(source_ids, options.constraints)
    columns = allocate_columns(weights.output, ids)
    slots.columns[slot] = columns.record
    return columns


@kernel
def run(
    weights: Weights, new: NewSentences, slots: Slots, pages: Pages, work: Workspace,
    candidates: Candidates, terms: Terms, n_sentences: int, interrupted: Ints,
    min_tokens: int, min_rows: int,
) -> int:  # fmt: skip
    """Encode new sentences, and advance all n until one is done or interrupted[0] is not 0.

    Unless all are done, continue at least until each has `min_tokens` more tokens or `min_rows`
    rows were decoded. Returns how many are done: their slots are in `candidates.done`.
    """
    join(weights, new, slots, pages, work)
    start(weights, new, slots, pages, work)
    n_done = n_tokens = n_rows = 0
    while n_done < n_sentences:
        is_enough = n_tokens >= min_tokens or n_rows >= min_rows
        if is_enough and (n_done or interrupted[0]):
            break
        close_if_busy(work.scratch.queue)
        n_live = gather(weights, slots, pages, work)
        n_done = step(weights, n_live, slots, pages, work, candidates, terms, n_done)
        n_tokens += 1
        n_rows += n_live
    return n_done


@kernel
def step(
    weights: Weights, n_rows: int, slots: Slots, pages: Pages, work: Workspace,
    candidates: Candidates, terms: Terms, n_done: int,
) -> int:  # fmt: skip
    """Advance every sentence by a token; returns how many are done, including `n_done`."""
    decode(weights, n_rows, slots, pages, work, work.no_record, work.no_record)
    for row in range(n_rows):
        slot = work.row_slot[row]
        rule = slots.rule[slot]
        candidates.next.unk_id[row] = rule.unk_id
        candidates.next.renormalises[row] = rule.renormalises
        list_edits(slot, work.row_lane[row], row, weights.shape.eos_id, slots, pages,
                   candidates.next)  # fmt: skip
        if terms.sentence[slot].n_terms:
            name_tokens(slot, work.row_lane[row], row, weights.shape.eos_id, slots, terms,
                        candidates.next)  # fmt: skip
        else:
            candidates.next.n_best[row] = _n_continuations(slot, slots)
            candidates.next.n_named[row] = 0
    predict(weights, n_rows, slots, work, candidates.next)
    row = 0
    while row < n_rows:
        slot = work.row_slot[row]
        n_live = slots.n_live[slot]
        if slots.processors[slot].temperature > 0:
            draw(slot, row, slots, candidates.next)
        if slots.rule[slot].at_limit == ENDED and slots.length[slot] + 1 == slots.limit[slot]:
            finish_ended(slot, weights.shape.eos_id, slots, pages)
            is_done = True
        elif terms.sentence[slot].n_terms:
            is_done = advance_constrained(slot, row, weights.shape.eos_id, slots, pages, terms,
                                          candidates.next, candidates.new_path)  # fmt: skip
        else:
            is_done = _advance(slot, row, weights.shape.eos_id, slots, pages, candidates)
        if is_done:
            slots.n_live[slot] = 0
            candidates.done[n_done] = slot
            n_done += 1
        row += n_live
    return n_done


@kernel
def _n_continuations(slot: int, slots: Slots) -> int:
    """The number of continuations that a step considers. A greedy search needs one."""
    beam = slots.beam[slot]
    if slots.processors[slot].temperature > 0:
        return N_SAMPLED
    if slots.rule[slot].narrows:
        return int(beam if slots.length[slot] == 0 else slots.n_live[slot])
    return 1 if beam == 1 else int(2 * beam)


@kernel
def _advance(
    slot: int, first_row: int, eos_id: int, slots: Slots, pages: Pages, candidates: Candidates
) -> bool:
    """Choose among the continuations of one sentence. Returns whether it is done."""
    beam, rule = slots.beam[slot], slots.rule[slot]
    n_candidates = _merge(slot, first_row, slots, candidates)
    slots.length[slot] += 1
    length = slots.length[slot]
    is_last = length >= slots.limit[slot]
    divisor = normalisation(length, rule)
    n_live = 0
    for rank in range(n_candidates):
        row = candidates.best_row[rank]
        in_row = candidates.best_rank[rank]
        lane, token = row - first_row, candidates.next.tokens[row, in_row]
        score, log_prob = candidates.best_score[rank], candidates.next.log_probs[row, in_row]
        if not np.isfinite(score):
            slots.failed[slot] = True
            return True
        if token == eos_id or (is_last and rule.at_limit == AS_IT_IS):
            if rank < beam:
                finish(slot, lane, token, log_prob, score / divisor, slots, pages)
        elif n_live < beam:
            for t in range(length):
                candidates.new_path[n_live, t] = slots.path[slot * MAX_BEAM + lane, t]
            slots.live[slot, n_live] = score
            slots.latest[slot, n_live] = token
            slots.latest_log_prob[slot, n_live] = log_prob
            n_live += 1
    for lane in range(n_live):
        for t in range(length):
            slots.path[slot * MAX_BEAM + lane, t] = candidates.new_path[lane, t]
    slots.n_live[slot] = n_live
    if is_last and rule.at_limit == BEHIND:
        finish_behind(slot, n_live, slots, pages)
    if is_last or n_live == 0:
        slots.failed[slot] = slots.score[slot, 0] == -np.inf
        return True
    if is_settled(slot, slots.live[slot, 0], slots):
        return True
    if rule.stopping == SETTLED and not rule.narrows:
        _drop_hopeless(slot, slots)
    return False


@kernel
def _drop_hopeless(slot: int, slots: Slots) -> None:
    """Drop the live hypotheses that cannot enter the n best any more.

    Their continuations score no better, so dropping them changes no result. Under other stopping
    rules they would fill the finished hypotheses or narrow the beam.
    """
    worst = slots.score[slot, slots.n_best[slot] - 1]
    at_limit = normalisation(slots.limit[slot], slots.rule[slot])
    n_live = slots.n_live[slot]
    while n_live > 0 and slots.live[slot, n_live - 1] / at_limit <= worst:
        n_live -= 1
    slots.n_live[slot] = n_live


@kernel
def _merge(slot: int, first_row: int, slots: Slots, candidates: Candidates) -> int:
    """Merge the best continuations of all live hypotheses, in order; returns their number.

    NaN becomes the only one, so that it is always detected.
    """
    n_best = candidates.next.n_best[first_row]
    n_found = 0
    for lane in range(slots.n_live[slot]):
        row = first_row + lane
        for rank in range(n_best):
            score = slots.live[slot, lane] + candidates.next.log_probs[row, rank]
            if score == -np.inf:
                break
            if np.isnan(score):
                candidates.best_score[0] = score
                candidates.best_row[0], candidates.best_rank[0] = row, rank
                return 1
            at = n_found
            while at > 0 and score > candidates.best_score[at - 1]:
                at -= 1
            if at >= n_best:
                break
            n_found = min(n_found + 1, n_best)
            for moved in range(n_found - 1, at, -1):
                candidates.best_score[moved] = candidates.best_score[moved - 1]
                candidates.best_row[moved] = candidates.best_row[moved - 1]
                candidates.best_rank[moved] = candidates.best_rank[moved - 1]
            candidates.best_score[at] = score
            candidates.best_row[at] = row
            candidates.best_rank[at] = rank
    return n_found
