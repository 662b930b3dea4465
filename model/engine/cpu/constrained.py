"""A step of the search for translations that contain given terms: `model.decoding.constrained`."""

from __future__ import annotations

import numpy as np

from model.decoding.constraints import FIRST, GLUED
from model.engine.cpu.finish import BEHIND_FINISHED, finish, length_normalisation
from model.engine.cpu.jit import kernel
from model.engine.cpu.output import Predictions
from model.engine.cpu.slots import MAX_BEAM, Pages, Slots
from model.engine.cpu.terms import Terms
from model.engine.cpu.types import Ints

_NONE = -1
"""No wording."""

_MULTIPLIER = 6364136223846793005
"""Of a linear congruential generator modulo 2^64 (Knuth, MMIX), which hashes tokens well enough."""


@kernel
def ask(
    slot: int, lane: int, row: int, eos_id: int, slots: Slots, terms: Terms, next_: Predictions
) -> None:
    """Which tokens' probabilities the hypothesis needs beside its most probable ones."""
    within = terms.within[slot, lane]
    if within != _NONE:
        next_.n_wanted[row] = next_.n_asked[row] = 1
        next_.asked[row, 0] = terms.ids[slot, within, terms.position[slot, lane]]
        return
    next_.n_wanted[row] = 2 * terms.width[slot]
    next_.asked[row, 0] = eos_id
    terms.asked_for[row, 0] = _NONE
    n_asked = 1
    begun = terms.begun[slot, lane]
    for wording in range(terms.n_wordings[slot]):
        term = terms.term[slot, wording]
        is_next = not terms.is_repeat[slot, term] or begun >> (term - 1) & 1
        if not begun >> term & 1 and is_next and _fits(slot, lane, wording, slots, terms):
            next_.asked[row, n_asked] = terms.ids[slot, wording, 0]
            terms.asked_for[row, n_asked] = wording
            n_asked += 1
    next_.n_asked[row] = n_asked


@kernel
def _fits(slot: int, lane: int, wording: int, slots: Slots, terms: Terms) -> bool:
    """Whether the wording may begin here."""
    is_first = slots.length[slot] == 0
    where = terms.where[slot, wording]
    if where == FIRST:
        return bool(is_first)
    if terms.after_term[slot, lane] and terms.before[terms.ids[slot, wording, 0]]:
        return False
    if where == GLUED:
        return bool(not is_first and not terms.behind[slots.latest[slot, lane]])
    return True


@kernel
def advance_constrained(
    slot: int, first_row: int, eos_id: int, slots: Slots, pages: Pages, terms: Terms,
    next_: Predictions, new_path: Ints,
) -> bool:  # fmt: skip
    """Choose among the continuations of one sentence. Returns whether it is over."""
    banks, beam, last = terms.banks, slots.beam[slot], 2 * terms.n_terms[slot]
    slots.length[slot] += 1
    length = slots.length[slot]
    banks.n[:] = 0
    for lane in range(slots.n_live[slot]):
        if not _continue(slot, lane, first_row + lane, eos_id, slots, terms, next_):
            slots.failed[slot] = True
            return True
    normalisation = length_normalisation(length, slots.alpha[slot])
    for rank in range(min(beam, banks.n[last])):
        if banks.token[last, rank] == eos_id:
            finish(slot, banks.lane[last, rank], eos_id, banks.log_prob[last, rank],
                   banks.score[last, rank] / normalisation, slots, pages)  # fmt: skip
    n_live = _share_out(slot, eos_id, terms)
    _live_on(slot, n_live, slots, terms, new_path)
    if length >= slots.limit[slot]:
        for lane in range(n_live):
            finish(slot, lane, slots.latest[slot, lane], slots.latest_log_prob[slot, lane],
                   BEHIND_FINISHED * np.float32(lane + 1), slots, pages)  # fmt: skip
        return True
    if n_live == 0:
        slots.failed[slot] = slots.score[slot, 0] == -np.inf
        return True
    best = slots.live[slot, 0]
    for lane in range(1, n_live):
        best = max(best, slots.live[slot, lane])
    at_limit = best / length_normalisation(slots.limit[slot], slots.alpha[slot])
    return bool(slots.score[slot, slots.n_best[slot] - 1] >= at_limit)


@kernel
def _continue(
    slot: int, lane: int, row: int, eos_id: int, slots: Slots, terms: Terms, next_: Predictions
) -> bool:
    """Put the continuations of a hypothesis into the banks. False where one is NaN."""
    begun, within = terms.begun[slot, lane], terms.within[slot, lane]
    if within != _NONE:
        position = terms.position[slot, lane]
        return _offer_wording(slot, lane, begun, within, position, next_.asked_log_probs[row, 0],
                              slots, terms)  # fmt: skip
    if begun == (1 << terms.n_terms[slot]) - 1 and not _offer(
        slot, lane, eos_id, next_.asked_log_probs[row, 0], begun, _NONE, 0, False, slots, terms
    ):
        return False
    for place in range(next_.n_wanted[row]):
        token = next_.tokens[row, place]
        if token == eos_id or (terms.after_term[slot, lane] and terms.before[token]):
            continue
        if not _offer(slot, lane, token, next_.log_probs[row, place], begun, _NONE, 0, False,
                      slots, terms):  # fmt: skip
            return False
    for place in range(1, next_.n_asked[row]):
        wording = terms.asked_for[row, place]
        begun_too = begun | 1 << terms.term[slot, wording]
        if not _offer_wording(slot, lane, begun_too, wording, 0, next_.asked_log_probs[row, place],
                              slots, terms):  # fmt: skip
            return False
    return True


@kernel
def _offer_wording(
    slot: int, lane: int, begun: int, wording: int, position: int, log_prob: np.float32,
    slots: Slots, terms: Terms,
) -> bool:  # fmt: skip
    """The token of a wording at a position, as `_offer`."""
    token = terms.ids[slot, wording, position]
    if position + 1 < terms.length[slot, wording]:
        return _offer(slot, lane, token, log_prob, begun, wording, position + 1, False, slots,
                      terms)  # fmt: skip
    return _offer(slot, lane, token, log_prob, begun, _NONE, 0, terms.is_closed[slot, wording],
                  slots, terms)  # fmt: skip


@kernel
def _offer(
    slot: int, lane: int, token: int, log_prob: np.float32, begun: int, within: int,
    position: int, after_term: bool, slots: Slots, terms: Terms,
) -> bool:  # fmt: skip
    """Put a continuation into its bank, if it is good enough and new there. False if it is NaN."""
    score = slots.live[slot, lane] + log_prob
    if np.isnan(score):
        return False
    n_missing = 0 if within == _NONE else terms.length[slot, within] - position
    bank = 0 if within == _NONE else -1
    rank = terms.rank[slot, lane] if position > 1 else score
    for term in range(terms.n_terms[slot]):
        if begun >> term & 1:
            bank += 2
        else:
            n_missing += terms.n_tokens[slot, term]
    if score == -np.inf or slots.length[slot] + n_missing > slots.limit[slot]:
        return True
    banks, most = terms.banks, 2 * terms.width[slot]
    n = banks.n[bank]
    at = n
    while at > 0 and rank > banks.rank[bank, at - 1]:
        at -= 1
    if at == most:
        return True
    history = terms.history[slot, lane] * _MULTIPLIER + token + 1
    for place in range(n):
        if (
            banks.history[bank, place] == history
            and banks.begun[bank, place] == begun
            and banks.within[bank, place] == within
            and banks.position[bank, place] == position
            and banks.after_term[bank, place] == after_term
        ):
            return True
    n = banks.n[bank] = min(n + 1, most)
    for moved in range(n - 1, at, -1):
        for of in (banks.lane, banks.token, banks.begun, banks.within, banks.position,
                   banks.history):  # fmt: skip
            of[bank, moved] = of[bank, moved - 1]
        banks.rank[bank, moved] = banks.rank[bank, moved - 1]
        banks.score[bank, moved] = banks.score[bank, moved - 1]
        banks.log_prob[bank, moved] = banks.log_prob[bank, moved - 1]
        banks.after_term[bank, moved] = banks.after_term[bank, moved - 1]
    banks.rank[bank, at] = rank
    banks.score[bank, at] = score
    banks.lane[bank, at] = lane
    banks.token[bank, at] = token
    banks.log_prob[bank, at] = log_prob
    banks.begun[bank, at] = begun
    banks.within[bank, at] = within
    banks.position[bank, at] = position
    banks.after_term[bank, at] = after_term
    banks.history[bank, at] = history
    return True


@kernel
def _share_out(slot: int, eos_id: int, terms: Terms) -> int:
    """Choose who lives on: of each bank its share, then the best of what is left; best first."""
    banks, width = terms.banks, terms.width[slot]
    n_banks = 2 * terms.n_terms[slot] + 1
    n_peopled = n_live = 0
    for bank in range(n_banks):
        banks.taken[bank] = 0
        n_peopled += _next(bank, eos_id, terms) < banks.n[bank]
    for bank in range(n_banks):
        for _ in range(width // max(1, n_peopled)):
            place = _next(bank, eos_id, terms)
            if place < banks.n[bank]:
                n_live = _choose(bank, place, n_live, terms)
    while n_live < width:
        best = -1
        for bank in range(n_banks):
            place = _next(bank, eos_id, terms)
            if place < banks.n[bank] and (
                best < 0 or banks.rank[bank, place] > banks.rank[best, banks.taken[best]]
            ):
                best = bank
        if best < 0:
            break
        n_live = _choose(best, banks.taken[best], n_live, terms)
    return n_live


@kernel
def _next(bank: int, eos_id: int, terms: Terms) -> int:
    """The next place of a bank with what does not end; `taken` is moved there."""
    banks = terms.banks
    while banks.taken[bank] < banks.n[bank] and banks.token[bank, banks.taken[bank]] == eos_id:
        banks.taken[bank] += 1
    return int(banks.taken[bank])


@kernel
def _choose(bank: int, place: int, n_live: int, terms: Terms) -> int:
    """Take one into the order of those that live on; returns how many they are now."""
    banks = terms.banks
    banks.taken[bank] = place + 1
    at = n_live
    while at > 0:
        other, other_place = banks.chosen_bank[at - 1], banks.chosen_place[at - 1]
        rank, other_rank = banks.rank[bank, place], banks.rank[other, other_place]
        if other_rank > rank or (other_rank == rank and other <= bank):
            break
        banks.chosen_bank[at], banks.chosen_place[at] = other, other_place
        at -= 1
    banks.chosen_bank[at], banks.chosen_place[at] = bank, place
    return n_live + 1


@kernel
def _live_on(slot: int, n_live: int, slots: Slots, terms: Terms, new_path: Ints) -> None:
    """Put the chosen in the place of those that they go on from."""
    banks, length = terms.banks, slots.length[slot]
    for lane in range(n_live):
        bank, place = banks.chosen_bank[lane], banks.chosen_place[lane]
        parent = banks.lane[bank, place]
        for t in range(length):
            new_path[lane, t] = slots.path[slot * MAX_BEAM + parent, t]
        terms.rank[slot, lane] = banks.rank[bank, place]
        slots.live[slot, lane] = banks.score[bank, place]
        slots.latest[slot, lane] = banks.token[bank, place]
        slots.latest_log_prob[slot, lane] = banks.log_prob[bank, place]
        terms.begun[slot, lane] = banks.begun[bank, place]
        terms.within[slot, lane] = banks.within[bank, place]
        terms.position[slot, lane] = banks.position[bank, place]
        terms.after_term[slot, lane] = banks.after_term[bank, place]
        terms.history[slot, lane] = banks.history[bank, place]
    for lane in range(n_live):
        for t in range(length):
            slots.path[slot * MAX_BEAM + lane, t] = new_path[lane, t]
    slots.n_live[slot] = n_live
