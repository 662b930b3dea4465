"""§3.4: from the decoder's output to the best next tokens of each row, without a full softmax.

Logits are computed in panels of 64 columns and not stored: they would fill the cache many times
over. (Those of a few rows are stored if two threads share the product.) Of each row only the
largest logit so far, the sum of exponentials relative to it, and the best tokens are kept. Few
panels change the first and the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from model.decoding.processors import MAX_BAD_TOKENS
from model.engine.cpu.forward.shortlisted import columns_of
from model.engine.cpu.forward.slots import NO_TOKEN, Slots
from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.forward.workspace import LOGIT_ROWS, SHARED_ROWS, Workspace
from model.engine.cpu.kernels.arrays import Flags, Floats, Ints, Records, lazy_zeros
from model.engine.cpu.kernels.instructions import COLUMNS, LANES
from model.engine.cpu.kernels.intrinsics import (
    add_exponentials,
    any_above,
    get,
    maximum,
    multiply,
    prepare,
    put,
)
from model.engine.cpu.kernels.jit import kernel
from model.engine.cpu.kernels.linear import NO_FLOOR, project_prepared
from model.engine.cpu.kernels.packing import Linear
from model.engine.cpu.kernels.work_queue import is_open

LOWEST = np.float32(np.finfo(np.float32).min)
"""Below every finite logit, so that its difference to −∞ is defined."""

_NAMED = np.dtype(
    [("token", np.int64), ("wording", np.int64), ("log_prob", np.float32)], align=True
)
_EDIT = np.dtype([("token", np.int64), ("factor", np.float32), ("logit", np.float32)], align=True)


class Predictions(NamedTuple):
    """The most probable next tokens of each row, and the probabilities of named tokens.

    n_best             [R], input: how many of the most probable tokens, at least 1
    tokens, log_probs  [R, ≥ n_best], output: these tokens, best first, the lower of equals first;
                       never `<pad>`. The log-probability is −∞ where there are no more, or NaN
    n_named, named     [R] and [R, ≥ n_named]: input `token`, which is not kept, and `wording` for
                       the caller; output `log_prob`, −∞ for `<pad>`
    unk_id             [R], input, not kept: a token that is not chosen either but keeps its
                       probability, or `NO_TOKEN`
    renormalises       [R], input: whether the others' probabilities sum to one without `<pad>`
    n_edits, edits     [R] and [R, ≥ n_edits], input: `token`, ascending, and `factor`, 0 if it must
                       not be chosen, else its repetition penalty
    edits_logits       [R], input: whether logits are edited, not log-probabilities
    next_edit          [R], the first edit beyond the panels so far
    """

    n_best: Ints
    tokens: Ints
    log_probs: Floats
    n_named: Ints
    named: Records
    unk_id: Ints
    renormalises: Flags
    n_edits: Ints
    edits: Records
    edits_logits: Flags
    next_edit: Ints


def make_predictions(n_rows: int, max_best: int, max_named: int, longest: int = 0) -> Predictions:
    """For at most `n_rows` rows, and edits for hypotheses of up to `longest` tokens."""
    max_edits = 2 * (longest + 1) + MAX_BAD_TOKENS + 1 if longest else 1
    return Predictions(
        n_best=np.ones(n_rows, np.int64),
        tokens=np.zeros((n_rows, max_best), np.int64),
        log_probs=np.zeros((n_rows, max_best), np.float32),
        n_named=np.zeros(n_rows, np.int64),
        named=np.zeros((n_rows, max_named), _NAMED),
        unk_id=np.full(n_rows, NO_TOKEN, np.int64),
        renormalises=np.zeros(n_rows, np.bool_),
        n_edits=np.zeros(n_rows, np.int64),
        edits=lazy_zeros((n_rows, max_edits), _EDIT),
        edits_logits=np.zeros(n_rows, np.bool_),
        next_edit=np.zeros(n_rows, np.int64),
    )


@kernel
def predict(
    weights: Weights, n_rows: int, slots: Slots, work: Workspace, predictions: Predictions
) -> None:
    """Fill in the predictions for each row of work.x, by its sentence's candidates if it has any.

    The rows of sentences with a shortlist are the last ones; see `gather`.
    """
    output, pad_id = weights.output, weights.shape.pad_id
    prepare(work.x, n_rows, output, work.scratch)
    n_whole = 0
    while n_whole < n_rows and not slots.columns[work.row_slot[n_whole]].n:
        n_whole += 1
    if n_whole:
        _predict(output, 0, n_whole, pad_id, work, predictions)
    first = n_whole
    while first < n_rows:
        slot, end = work.row_slot[first], first + 1
        while end < n_rows and work.row_slot[end] == slot:
            end += 1
        ids, columns = columns_of(slots, slot, output)
        for row in range(first, end):
            _to_indices(ids, predictions, row)
        _predict(columns, first, end, _index_of(ids, pad_id), work, predictions)
        for row in range(first, end):
            _to_tokens(ids, pad_id, predictions, row)
        first = end


@kernel
def _to_indices(ids: Ints, predictions: Predictions, row: int) -> None:
    """Replace the tokens that a row names by their indices among the candidates."""
    predictions.unk_id[row] = _index_of(ids, predictions.unk_id[row])
    for index in range(predictions.n_named[row]):
        named = predictions.named[row, index]
        named.token = _index_of(ids, named.token)
        named.log_prob = -np.inf
    n_kept = 0
    for index in range(predictions.n_edits[row]):
        edit = predictions.edits[row, index]
        candidate = _index_of(ids, edit.token)
        if candidate != NO_TOKEN:
            predictions.edits[row, n_kept].factor = edit.factor
            predictions.edits[row, n_kept].token = candidate
            n_kept += 1
    predictions.n_edits[row] = n_kept


@kernel
def _index_of(ids: Ints, token: int) -> int:
    """Return the index of a token among the candidates, or `NO_TOKEN`."""
    index = int(np.searchsorted(ids, token))
    return index if index < len(ids) and ids[index] == token else NO_TOKEN


@kernel
def _to_tokens(ids: Ints, pad_id: int, predictions: Predictions, row: int) -> None:
    """Replace the indices of a row's best candidates by the tokens."""
    for rank in range(predictions.n_best[row]):
        candidate = predictions.tokens[row, rank]
        predictions.tokens[row, rank] = pad_id if candidate == NO_TOKEN else ids[candidate]


@kernel
def _predict(  # noqa: PLR0912
    output: Linear, begin: int, end: int, pad_id: int, work: Workspace, predictions: Predictions
) -> None:
    """Fill in the predictions for the rows begin … end − 1, which are prepared."""
    _reset(begin, end, pad_id, work, predictions)
    is_shared = begin == 0 and end <= SHARED_ROWS and is_open(work.scratch.queue)
    logits = work.all_logits if is_shared else work.logits
    if is_shared:
        project_prepared(work.x, end, output, 0, NO_FLOOR, False, work.scratch, logits)
    for panel in range(output.bias.shape[1] // COLUMNS):
        has_pad = panel == pad_id // COLUMNS
        start = panel * COLUMNS if is_shared else 0
        for first in range(begin, end, LOGIT_ROWS):
            n_together = min(LOGIT_ROWS, end - first)
            if not is_shared:
                multiply(work.x, first, n_together, first - begin, end - begin, output, 0, panel,
                         NO_FLOOR, False, work.scratch, logits, 0)  # fmt: skip
            for i in range(n_together):  # inline: a call would cost more than it does
                row, at = first + i, i * logits.shape[1] + start
                if has_pad and predictions.renormalises[row]:
                    put(logits, at + pad_id % COLUMNS, np.float32(-np.inf))
                n_best = predictions.n_best[row]
                if predictions.n_edits[row]:
                    _edit(logits, at, panel, work, predictions, row)
                if any_above(logits, at, predictions.log_probs[row, n_best - 1]):
                    largest = maximum(logits, at, COLUMNS)
                    _raise_highest(work.highest, work.totals, row, largest)
                    _keep_best(logits, at, panel, pad_id, predictions, row)
                if predictions.n_named[row]:
                    _look_up(logits, at, panel, pad_id, predictions, row)
                if predictions.n_edits[row] and not predictions.edits_logits[row]:
                    _restore(logits, at, panel, predictions, row)
                add_exponentials(logits, at, work.highest[row], work.totals, row * LANES)
    for row in range(begin, end):
        normaliser = work.highest[row] + np.log(work.totals[row].sum())
        for rank in range(predictions.n_best[row]):
            predictions.log_probs[row, rank] -= normaliser
        for index in range(predictions.n_named[row]):
            predictions.named[row, index].log_prob -= normaliser
        if predictions.n_edits[row] and not predictions.edits_logits[row]:
            _insert_penalised(normaliser, pad_id, predictions, row)


@kernel
def _edit(
    logits: Floats, at: int, panel: int, work: Workspace, predictions: Predictions, row: int
) -> None:
    """Edit the logits of a panel. Those of forbidden tokens become −∞.

    So do penalised ones if log-probabilities are edited, which are not known yet.
    """
    first, index, n = panel * COLUMNS, predictions.next_edit[row], predictions.n_edits[row]
    on_logits = predictions.edits_logits[row]
    if index < n and predictions.edits[row, index].token < first + COLUMNS and not on_logits:
        _raise_highest(work.highest, work.totals, row, maximum(logits, at, COLUMNS))
    while index < n and predictions.edits[row, index].token < first + COLUMNS:
        edit = predictions.edits[row, index]
        place = at + edit.token - first
        edit.logit = get(logits, place)
        penalised = edit.factor > 0 and on_logits
        put(
            logits, place, _penalised(edit.logit, edit.factor) if penalised else np.float32(-np.inf)
        )
        index += 1
    predictions.next_edit[row] = index


@kernel
def _penalised(score: np.float32, factor: np.float32) -> np.float32:
    """Keskar et al. 2019, §4.1, as `transformers` and CTranslate2 define it."""
    return np.float32(score * factor if score < 0 else score / factor)


@kernel
def _restore(logits: Floats, at: int, panel: int, predictions: Predictions, row: int) -> None:
    """Restore the logits of a panel, whose tokens keep their probability."""
    first, index = panel * COLUMNS, predictions.next_edit[row] - 1
    while index >= 0 and predictions.edits[row, index].token >= first:
        edit = predictions.edits[row, index]
        put(logits, at + edit.token - first, edit.logit)
        index -= 1


@kernel
def _insert_penalised(
    normaliser: np.float32, pad_id: int, predictions: Predictions, row: int
) -> None:
    """Penalise the log-probabilities of tokens, and insert those that are among the best."""
    best, n_best = predictions.log_probs, predictions.n_best[row]
    for index in range(predictions.n_edits[row]):
        edit = predictions.edits[row, index]
        if edit.factor == 0 or edit.token in (pad_id, predictions.unk_id[row]):
            continue
        log_prob = _penalised(edit.logit - normaliser, edit.factor)
        if log_prob > best[row, n_best - 1]:
            _insert(best, predictions.tokens, row, n_best, log_prob, edit.token)
        for number in range(predictions.n_named[row]):
            if predictions.named[row, number].token == edit.token:
                predictions.named[row, number].log_prob = log_prob


@kernel
def _reset(begin: int, end: int, pad_id: int, work: Workspace, predictions: Predictions) -> None:
    """Reset the results of the rows."""
    for row in range(begin, end):
        work.highest[row] = LOWEST
        work.totals[row] = 0
        predictions.next_edit[row] = 0
        for rank in range(predictions.n_best[row]):
            predictions.tokens[row, rank] = pad_id
            predictions.log_probs[row, rank] = -np.inf


@kernel
def _raise_highest(highest: Floats, totals: Floats, row: int, logit: np.float32) -> None:
    """Rescale a row's sums of exponentials to this logit if it is the largest so far."""
    if logit > highest[row]:
        shift = np.exp(highest[row] - logit)
        for lane in range(LANES):
            totals[row, lane] *= shift
        highest[row] = logit


@kernel
def _keep_best(
    logits: Floats, at: int, panel: int, pad_id: int, predictions: Predictions, row: int
) -> None:
    """Insert the logits of a panel, at an offset, that are among a row's best so far."""
    best, n_best = predictions.log_probs, predictions.n_best[row]
    unk_id = predictions.unk_id[row]
    for column in range(COLUMNS):
        logit, token = get(logits, at + column), panel * COLUMNS + column
        if logit > best[row, n_best - 1] and token not in (pad_id, unk_id):
            _insert(best, predictions.tokens, row, n_best, logit, token)


@kernel
def _look_up(
    logits: Floats, at: int, panel: int, pad_id: int, predictions: Predictions, row: int
) -> None:
    """Store the logits of a row's named tokens that are in this panel."""
    first, unk_id = panel * COLUMNS, predictions.unk_id[row]
    for index in range(predictions.n_named[row]):
        named = predictions.named[row, index]
        if first <= named.token < first + COLUMNS:
            is_never = named.token in (pad_id, unk_id)
            named.log_prob = -np.inf if is_never else get(logits, at + named.token - first)


@kernel
def _insert(best: Floats, tokens: Ints, row: int, n: int, logit: np.float32, token: int) -> None:
    """Insert a logit above the last of the n largest; of equals the first stays first."""
    rank = n - 1
    while rank > 0 and logit > best[row, rank - 1]:
        best[row, rank] = best[row, rank - 1]
        tokens[row, rank] = tokens[row, rank - 1]
        rank -= 1
    best[row, rank] = logit
    tokens[row, rank] = token
