"""Logits processors and sampling of the sentences in flight: `model.decoding.distribution`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from model.decoding.hypothesis import SearchLimits, SearchOptions
from model.decoding.processors import NO_PROCESSORS
from model.engine.cpu.forward.output import Predictions
from model.engine.cpu.forward.slots import MAX_BEAM, Pages, Slots
from model.engine.cpu.kernels.jit import kernel

FORBIDDEN = np.float32(0)
"""In place of a penalty."""


def set_processors(
    slots: Slots, slot: int, source_ids: Sequence[int], options: SearchOptions, limits: SearchLimits
) -> None:
    """Start a sentence with the processors and the temperature of its options."""
    chosen = options.processors
    words = [number for word in chosen.bad_words_ids for number in (len(word), *word)]
    # Nothing is drawn in a search for given terms.
    temperature = 0.0 if limits.constraints else options.temperature
    slots.bad_words[slot, : len(words)] = words
    if temperature:
        slots.draws[slot, : limits.n_tokens] = options.draws(source_ids, limits.n_tokens)
    slots.processors[slot] = (
        chosen.min_length + options.n_given,
        chosen.no_repeat_ngram_size,
        len(words),
        chosen.repetition_penalty,
        temperature,
        chosen != NO_PROCESSORS,
        options.processes_logits,
        options.traits.processors == "transformers",
    )


@kernel
def list_edits(
    slot: int, lane: int, row: int, eos_id: int, slots: Slots, pages: Pages, next_: Predictions
) -> None:
    """List the tokens that a hypothesis must not have next, and those that are penalised."""
    one, length = slots.processors[slot], slots.length[slot]
    next_.n_edits[row] = 0
    if not one.is_used:
        return
    next_.edits_logits[row] = one.on_logits
    first = 0 if one.counts_start else 1
    if one.repetition_penalty != 1:
        for t in range(first, length + 1):
            _edit(next_, row, _token(slot, lane, t, slots, pages), one.repetition_penalty)
    if length < one.min_length:
        _edit(next_, row, eos_id, FORBIDDEN)
    if one.no_repeat_ngram_size > 0:
        _forbid_repetition(slot, lane, row, first, slots, pages, next_)
    at = 0
    while at < one.n_words:
        size = slots.bad_words[slot, at]
        if _is_spelt(slot, lane, at + 1, size - 1, slots, pages):
            _edit(next_, row, slots.bad_words[slot, at + size], FORBIDDEN)
        at += 1 + size


@kernel
def _forbid_repetition(
    slot: int, lane: int, row: int, first: int, slots: Slots, pages: Pages, next_: Predictions
) -> None:
    """Forbid the tokens that followed the last n − 1 tokens before, from position `first` on."""
    n, length = slots.processors[slot].no_repeat_ngram_size, slots.length[slot]
    for last in range(first + n - 1, length + 1):
        back = 1
        while back < n and _token(slot, lane, last - back, slots, pages) == _token(
            slot, lane, length + 1 - back, slots, pages
        ):
            back += 1
        if back == n:
            _edit(next_, row, _token(slot, lane, last, slots, pages), FORBIDDEN)


@kernel
def _is_spelt(slot: int, lane: int, at: int, n: int, slots: Slots, pages: Pages) -> bool:
    """Whether a hypothesis ends with n tokens of its slot's bad words, from an index on."""
    length = slots.length[slot]
    if length < n:
        return False
    for index in range(n):
        token = _token(slot, lane, length - n + 1 + index, slots, pages)
        if token != slots.bad_words[slot, at + index]:
            return False
    return True


@kernel
def _token(slot: int, lane: int, t: int, slots: Slots, pages: Pages) -> int:
    """The token at a position of a hypothesis; the start symbol is at 0."""
    return int(pages.token[slots.path[slot * MAX_BEAM + lane, t]])


@kernel
def _edit(next_: Predictions, row: int, token: int, factor: np.float32) -> None:
    """Insert an edit into those of a row, by ascending token; a forbidden token stays so."""
    n, edits = next_.n_edits[row], next_.edits[row]
    at = n
    while at > 0 and edits[at - 1].token > token:
        at -= 1
    if at > 0 and edits[at - 1].token == token:
        if factor == FORBIDDEN:
            edits[at - 1].factor = FORBIDDEN
        return
    for moved in range(n, at, -1):
        edits[moved] = edits[moved - 1]
    edits[at].token, edits[at].factor = token, factor
    next_.n_edits[row] = n + 1


@kernel
def draw(slot: int, row: int, slots: Slots, next_: Predictions) -> None:
    """Keep the one of a row's most probable tokens that the position's random number selects."""
    temperature, n_best = slots.processors[slot].temperature, next_.n_best[row]
    next_.n_best[row] = 1
    largest = next_.log_probs[row, 0]
    if not np.isfinite(largest):
        return
    total = 0.0
    for rank in range(n_best):
        total += np.exp(np.float64(next_.log_probs[row, rank] - largest) / temperature)
    cut = slots.draws[slot, slots.length[slot]] * total
    passed = 0.0
    chosen = 0
    for rank in range(n_best):
        if next_.log_probs[row, rank] == -np.inf:
            break
        chosen = rank
        passed += np.exp(np.float64(next_.log_probs[row, rank] - largest) / temperature)
        if passed > cut:
            break
    next_.tokens[row, 0] = next_.tokens[row, chosen]
    next_.log_probs[row, 0] = next_.log_probs[row, chosen]
