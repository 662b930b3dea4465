"""A step of the search for translations that contain given terms: `model.decoding.constrained`."""

from __future__ import annotations

import numpy as np

from model.decoding.constraints import FIRST, GLUED
from model.engine.cpu.forward.output import Predictions
from model.engine.cpu.forward.slots import (
    AS_IT_IS,
    BEHIND,
    ENDED,
    MAX_BEAM,
    NO_TOKEN,
    Pages,
    Slots,
    normalisation,
)
from model.engine.cpu.hypotheses import finish, finish_behind, is_settled
from model.engine.cpu.kernels.arrays import Ints
from model.engine.cpu.kernels.jit import kernel
from model.engine.cpu.terms import NO_WORDING, Terms

_MULTIPLIER = 6364136223846793005
"""Multiplier of a linear congruential generator modulo 2^64 (Knuth, MMIX); hashes tokens."""


@kernel
def name_tokens(
    slot: int, lane: int, row: int, eos_id: int, slots: Slots, terms: Terms, next_: Predictions
) -> None:
    """Name the tokens whose probabilities a hypothesis needs beside its most probable ones."""
    progress, named = terms.lane[slot, lane], next_.named[row]
    if progress.within != NO_WORDING:
        next_.n_best[row] = next_.n_named[row] = 1
        named[0].token = terms.ids[slot, progress.within, progress.position]
        return
    sentence = terms.sentence[slot]
    next_.n_best[row] = 2 * sentence.width
    named[0].token = eos_id
    n_named = 1
    for wording in range(sentence.n_wordings):
        term = terms.wording[slot, wording].term
        if progress.started >> term & 1 or not _fits(slot, lane, wording, slots, terms):
            continue
        if not terms.term[slot, term].is_repeat or progress.started >> (term - 1) & 1:
            named[n_named].token = terms.ids[slot, wording, 0]
            named[n_named].wording = wording
            n_named += 1
    next_.n_named[row] = n_named


@kernel
def _fits(slot: int, lane: int, wording: int, slots: Slots, terms: Terms) -> bool:
    """Whether the wording may start here."""
    n_given = 0 if slots.rule[slot].first_id == NO_TOKEN else 1
    is_first = slots.length[slot] == n_given
    where = terms.wording[slot, wording].where
    if where == FIRST:
        return bool(is_first)
    if terms.lane[slot, lane].after_term and terms.before[terms.ids[slot, wording, 0]]:
        return False
    if where == GLUED:
        return bool(not is_first and not terms.behind[slots.latest[slot, lane]])
    return True


@kernel
def advance_constrained(
    slot: int, first_row: int, eos_id: int, slots: Slots, pages: Pages, terms: Terms,
    next_: Predictions, new_path: Ints,
) -> bool:  # fmt: skip
    """Choose among the continuations of one sentence. Returns whether it is done."""
    slots.length[slot] += 1
    length = slots.length[slot]
    n_banks = 2 * terms.sentence[slot].n_terms + 1
    for bank in range(n_banks):
        terms.bank[bank].n = 0
    for lane in range(slots.n_live[slot]):
        if not _add_continuations(slot, lane, first_row + lane, eos_id, slots, terms, next_):
            slots.failed[slot] = True
            return True
    rule, is_last = slots.rule[slot], length >= slots.limit[slot]
    divisor = normalisation(length, rule)
    for rank in range(min(slots.beam[slot], terms.bank[n_banks - 1].n)):
        found = terms.continuation[n_banks - 1, rank]
        if found.token == eos_id or (is_last and rule.at_limit == AS_IT_IS):
            finish(slot, found.lane, found.token, found.log_prob, found.score / divisor, slots,
                   pages)  # fmt: skip
    n_live = _allocate(n_banks, terms.sentence[slot].width, eos_id, terms)
    _keep_chosen(slot, n_live, slots, terms, new_path)
    if is_last and rule.at_limit == BEHIND:
        finish_behind(slot, n_live, slots, pages)
    if is_last or n_live == 0:
        slots.failed[slot] = slots.score[slot, 0] == -np.inf
        return True
    best = slots.live[slot, 0]
    for lane in range(1, n_live):
        best = max(best, slots.live[slot, lane])
    return is_settled(slot, best, slots)


@kernel
def _add_continuations(
    slot: int, lane: int, row: int, eos_id: int, slots: Slots, terms: Terms, next_: Predictions
) -> bool:
    """Add the continuations of a hypothesis to the banks. False if one is NaN."""
    progress, named = terms.lane[slot, lane], next_.named[row]
    started = progress.started
    if progress.within != NO_WORDING:
        return _add_wording(slot, lane, started, progress.within, progress.position,
                            named[0].log_prob, slots, terms)  # fmt: skip
    if started == (1 << terms.sentence[slot].n_terms) - 1 and not _add(
        slot, lane, eos_id, named[0].log_prob, started, NO_WORDING, 0, False, slots, terms
    ):
        return False
    for rank in range(next_.n_best[row]):
        token = next_.tokens[row, rank]
        if token == eos_id or (progress.after_term and terms.before[token]):
            continue
        if not _add(slot, lane, token, next_.log_probs[row, rank], started, NO_WORDING, 0, False,
                    slots, terms):  # fmt: skip
            return False
    for index in range(1, next_.n_named[row]):
        wording = named[index].wording
        started_now = started | 1 << terms.wording[slot, wording].term
        if not _add_wording(slot, lane, started_now, wording, 0, named[index].log_prob, slots,
                            terms):  # fmt: skip
            return False
    return True


@kernel
def _add_wording(
    slot: int, lane: int, started: int, wording: int, position: int, log_prob: np.float32,
    slots: Slots, terms: Terms,
) -> bool:  # fmt: skip
    """Add the token of a wording at a position, as `_add`."""
    token, record = terms.ids[slot, wording, position], terms.wording[slot, wording]
    if position + 1 < record.length:
        return _add(slot, lane, token, log_prob, started, wording, position + 1, False, slots,
                    terms)  # fmt: skip
    return _add(slot, lane, token, log_prob, started, NO_WORDING, 0, record.is_closed, slots,
                terms)  # fmt: skip


@kernel
def _add(
    slot: int, lane: int, token: int, log_prob: np.float32, started: int, within: int,
    position: int, after_term: bool, slots: Slots, terms: Terms,
) -> bool:  # fmt: skip
    """Add a continuation to its bank, if it is good enough and new there. False if it is NaN."""
    score = slots.live[slot, lane] + log_prob
    if np.isnan(score):
        return False
    n_missing = 0 if within == NO_WORDING else terms.wording[slot, within].length - position
    bank = 0 if within == NO_WORDING else -1
    for term in range(terms.sentence[slot].n_terms):
        if started >> term & 1:
            bank += 2
        else:
            n_missing += terms.term[slot, term].n_tokens
    n_usable = slots.limit[slot] - (slots.rule[slot].at_limit == ENDED)
    if score == -np.inf or (n_missing and slots.length[slot] + n_missing > n_usable):
        return True
    rank = terms.lane[slot, lane].rank if position > 1 else score
    history = terms.lane[slot, lane].history * _MULTIPLIER + token + 1
    n, held = terms.bank[bank].n, terms.continuation[bank]
    at = n
    while at > 0 and rank > held[at - 1].rank:
        at -= 1
    if at == 2 * terms.sentence[slot].width:
        return True
    for index in range(n):
        other = held[index]
        if (
            other.history == history
            and other.started == started
            and other.within == within
            and other.position == position
            and other.after_term == after_term
        ):
            return True
    n = min(n + 1, 2 * terms.sentence[slot].width)
    terms.bank[bank].n = n
    for moved in range(n - 1, at, -1):
        held[moved] = held[moved - 1]
    new = held[at]
    new.started, new.within, new.position, new.after_term = started, within, position, after_term
    new.history, new.rank, new.score, new.log_prob = history, rank, score, log_prob
    new.lane, new.token = lane, token
    return True


@kernel
def _allocate(n_banks: int, width: int, eos_id: int, terms: Terms) -> int:
    """Choose the survivors: of each bank its share, then the best of the rest; best first."""
    n_filled = n_live = 0
    for bank in range(n_banks):
        terms.bank[bank].next = 0
        n_filled += _next(bank, eos_id, terms) < terms.bank[bank].n
    for bank in range(n_banks):
        for _ in range(width // max(1, n_filled)):
            if _next(bank, eos_id, terms) < terms.bank[bank].n:
                n_live = _choose(bank, n_live, terms)
    while n_live < width:
        best, best_rank = -1, np.float32(0)
        for bank in range(n_banks):
            index = _next(bank, eos_id, terms)
            if index < terms.bank[bank].n:
                rank = terms.continuation[bank, index].rank
                if best < 0 or rank > best_rank:
                    best, best_rank = bank, rank
        if best < 0:
            break
        n_live = _choose(best, n_live, terms)
    return n_live


@kernel
def _next(bank: int, eos_id: int, terms: Terms) -> int:
    """Move `next` of a bank past continuations that end, and return it."""
    held = terms.bank[bank]
    while held.next < held.n and terms.continuation[bank, held.next].token == eos_id:
        held.next += 1
    return int(held.next)


@kernel
def _choose(bank: int, n_live: int, terms: Terms) -> int:
    """Insert a bank's next continuation into the ordered survivors; returns their number."""
    index, chosen = terms.bank[bank].next, terms.chosen
    terms.bank[bank].next += 1
    rank = terms.continuation[bank, index].rank
    at = n_live
    while at > 0:
        other = chosen[at - 1]
        other_rank = terms.continuation[other.bank, other.index].rank
        if other_rank > rank or (other_rank == rank and other.bank <= bank):
            break
        chosen[at] = other
        at -= 1
    chosen[at].bank, chosen[at].index = bank, index
    return n_live + 1


@kernel
def _keep_chosen(slot: int, n_live: int, slots: Slots, terms: Terms, new_path: Ints) -> None:
    """Replace the slot's hypotheses by the chosen continuations."""
    length = slots.length[slot]
    for lane in range(n_live):
        new = terms.continuation[terms.chosen[lane].bank, terms.chosen[lane].index]
        for t in range(length):
            new_path[lane, t] = slots.path[slot * MAX_BEAM + new.lane, t]
        slots.live[slot, lane] = new.score
        slots.latest[slot, lane] = new.token
        slots.latest_log_prob[slot, lane] = new.log_prob
        progress = terms.lane[slot, lane]
        progress.started, progress.within, progress.position = new.started, new.within, new.position
        progress.history, progress.rank = new.history, new.rank
        progress.after_term = new.after_term
    for lane in range(n_live):
        for t in range(length):
            slots.path[slot * MAX_BEAM + lane, t] = new_path[lane, t]
    slots.n_live[slot] = n_live
