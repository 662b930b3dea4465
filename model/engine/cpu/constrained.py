"""A step of the search for translations that contain given terms: `model.decoding.constrained`."""

from __future__ import annotations

import numpy as np

from model.decoding.constraints import FIRST, GLUED
from model.engine.cpu.finish import finish, finish_behind, is_settled
from model.engine.cpu.forward.output import Predictions
from model.engine.cpu.forward.rules import AS_IT_IS, BEHIND, ENDED, NO_TOKEN, normalisation
from model.engine.cpu.forward.slots import MAX_BEAM, Pages, Slots
from model.engine.cpu.kernels.jit import kernel
from model.engine.cpu.kernels.types import Ints
from model.engine.cpu.terms import NO_WORDING, Terms

_MULTIPLIER = 6364136223846793005
"""Of a linear congruential generator modulo 2^64 (Knuth, MMIX), which hashes tokens well enough."""


@kernel
def ask(
    slot: int, lane: int, row: int, eos_id: int, slots: Slots, terms: Terms, next_: Predictions
) -> None:
    """Which tokens' probabilities the hypothesis needs beside its most probable ones."""
    progress, asked = terms.lane[slot, lane], next_.asked[row]
    if progress.within != NO_WORDING:
        next_.n_wanted[row] = next_.n_asked[row] = 1
        asked[0].token = terms.ids[slot, progress.within, progress.position]
        return
    sentence = terms.sentence[slot]
    next_.n_wanted[row] = 2 * sentence.width
    asked[0].token = eos_id
    n_asked = 1
    for wording in range(sentence.n_wordings):
        term = terms.wording[slot, wording].term
        is_next = not terms.term[slot, term].is_repeat or progress.begun >> (term - 1) & 1
        if not progress.begun >> term & 1 and is_next and _fits(slot, lane, wording, slots, terms):
            asked[n_asked].token = terms.ids[slot, wording, 0]
            asked[n_asked].purpose = wording
            n_asked += 1
    next_.n_asked[row] = n_asked


@kernel
def _fits(slot: int, lane: int, wording: int, slots: Slots, terms: Terms) -> bool:
    """Whether the wording may begin here."""
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
    """Choose among the continuations of one sentence. Returns whether it is over."""
    slots.length[slot] += 1
    length = slots.length[slot]
    n_banks = 2 * terms.sentence[slot].n_terms + 1
    for bank in range(n_banks):
        terms.bank[bank].n = 0
    for lane in range(slots.n_live[slot]):
        if not _continue(slot, lane, first_row + lane, eos_id, slots, terms, next_):
            slots.failed[slot] = True
            return True
    rule, is_last = slots.rule[slot], length >= slots.limit[slot]
    divisor = normalisation(length, rule)
    for rank in range(min(slots.beam[slot], terms.bank[n_banks - 1].n)):
        found = terms.continuation[n_banks - 1, rank]
        if found.token == eos_id or (is_last and rule.at_limit == AS_IT_IS):
            finish(slot, found.lane, found.token, found.log_prob, found.score / divisor, slots,
                   pages)  # fmt: skip
    n_live = _share_out(n_banks, terms.sentence[slot].width, eos_id, terms)
    _live_on(slot, n_live, slots, terms, new_path)
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
def _continue(
    slot: int, lane: int, row: int, eos_id: int, slots: Slots, terms: Terms, next_: Predictions
) -> bool:
    """Put the continuations of a hypothesis into the banks. False where one is NaN."""
    progress, asked = terms.lane[slot, lane], next_.asked[row]
    begun = progress.begun
    if progress.within != NO_WORDING:
        return _offer_wording(slot, lane, begun, progress.within, progress.position,
                              asked[0].log_prob, slots, terms)  # fmt: skip
    if begun == (1 << terms.sentence[slot].n_terms) - 1 and not _offer(
        slot, lane, eos_id, asked[0].log_prob, begun, NO_WORDING, 0, False, slots, terms
    ):
        return False
    for place in range(next_.n_wanted[row]):
        token = next_.tokens[row, place]
        if token == eos_id or (progress.after_term and terms.before[token]):
            continue
        if not _offer(slot, lane, token, next_.log_probs[row, place], begun, NO_WORDING, 0, False,
                      slots, terms):  # fmt: skip
            return False
    for place in range(1, next_.n_asked[row]):
        wording = asked[place].purpose
        begun_too = begun | 1 << terms.wording[slot, wording].term
        if not _offer_wording(slot, lane, begun_too, wording, 0, asked[place].log_prob, slots,
                              terms):  # fmt: skip
            return False
    return True


@kernel
def _offer_wording(
    slot: int, lane: int, begun: int, wording: int, position: int, log_prob: np.float32,
    slots: Slots, terms: Terms,
) -> bool:  # fmt: skip
    """The token of a wording at a position, as `_offer`."""
    token, spelt = terms.ids[slot, wording, position], terms.wording[slot, wording]
    if position + 1 < spelt.length:
        return _offer(slot, lane, token, log_prob, begun, wording, position + 1, False, slots,
                      terms)  # fmt: skip
    return _offer(slot, lane, token, log_prob, begun, NO_WORDING, 0, spelt.is_closed, slots, terms)


@kernel
def _offer(
    slot: int, lane: int, token: int, log_prob: np.float32, begun: int, within: int,
    position: int, after_term: bool, slots: Slots, terms: Terms,
) -> bool:  # fmt: skip
    """Put a continuation into its bank, if it is good enough and new there. False if it is NaN."""
    score = slots.live[slot, lane] + log_prob
    if np.isnan(score):
        return False
    n_missing = 0 if within == NO_WORDING else terms.wording[slot, within].length - position
    bank = 0 if within == NO_WORDING else -1
    for term in range(terms.sentence[slot].n_terms):
        if begun >> term & 1:
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
    for place in range(n):
        other = held[place]
        if (
            other.history == history
            and other.begun == begun
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
    new.begun, new.within, new.position, new.after_term = begun, within, position, after_term
    new.history, new.rank, new.score, new.log_prob = history, rank, score, log_prob
    new.lane, new.token = lane, token
    return True


@kernel
def _share_out(n_banks: int, width: int, eos_id: int, terms: Terms) -> int:
    """Choose who lives on: of each bank its share, then the best of what is left; best first."""
    n_peopled = n_live = 0
    for bank in range(n_banks):
        terms.bank[bank].taken = 0
        n_peopled += _next(bank, eos_id, terms) < terms.bank[bank].n
    for bank in range(n_banks):
        for _ in range(width // max(1, n_peopled)):
            if _next(bank, eos_id, terms) < terms.bank[bank].n:
                n_live = _choose(bank, n_live, terms)
    while n_live < width:
        best, best_rank = -1, np.float32(0)
        for bank in range(n_banks):
            place = _next(bank, eos_id, terms)
            if place < terms.bank[bank].n:
                rank = terms.continuation[bank, place].rank
                if best < 0 or rank > best_rank:
                    best, best_rank = bank, rank
        if best < 0:
            break
        n_live = _choose(best, n_live, terms)
    return n_live


@kernel
def _next(bank: int, eos_id: int, terms: Terms) -> int:
    """The next place of a bank with what does not end; `taken` is moved there."""
    held = terms.bank[bank]
    while held.taken < held.n and terms.continuation[bank, held.taken].token == eos_id:
        held.taken += 1
    return int(held.taken)


@kernel
def _choose(bank: int, n_live: int, terms: Terms) -> int:
    """Take a bank's next into the order of those that live on; returns how many they are now."""
    place, chosen = terms.bank[bank].taken, terms.chosen
    terms.bank[bank].taken += 1
    rank = terms.continuation[bank, place].rank
    at = n_live
    while at > 0:
        other = chosen[at - 1]
        other_rank = terms.continuation[other.bank, other.place].rank
        if other_rank > rank or (other_rank == rank and other.bank <= bank):
            break
        chosen[at] = other
        at -= 1
    chosen[at].bank, chosen[at].place = bank, place
    return n_live + 1


@kernel
def _live_on(slot: int, n_live: int, slots: Slots, terms: Terms, new_path: Ints) -> None:
    """Put the chosen in the place of those that they go on from."""
    length = slots.length[slot]
    for lane in range(n_live):
        new = terms.continuation[terms.chosen[lane].bank, terms.chosen[lane].place]
        for t in range(length):
            new_path[lane, t] = slots.path[slot * MAX_BEAM + new.lane, t]
        slots.live[slot, lane] = new.score
        slots.latest[slot, lane] = new.token
        slots.latest_log_prob[slot, lane] = new.log_prob
        progress = terms.lane[slot, lane]
        progress.begun, progress.within, progress.position = new.begun, new.within, new.position
        progress.history, progress.rank = new.history, new.rank
        progress.after_term = new.after_term
    for lane in range(n_live):
        for t in range(length):
            slots.path[slot * MAX_BEAM + lane, t] = new_path[lane, t]
    slots.n_live[slot] = n_live
