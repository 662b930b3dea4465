"""§3.4: from the decoder's output to the best next tokens of each row, without a full softmax.

Logits are computed in panels of 64 columns and not stored: they would fill the cache many times
over. (Those of a few rows are, if a second thread takes part in the product.) Of each row only the
largest logit so far, the sum of exponentials relative to it, and the best tokens are kept. Few
panels change the first and the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from model.engine.cpu.forward.rules import NO_TOKEN
from model.engine.cpu.forward.workspace import LOGIT_ROWS, SHARED_ROWS, Workspace
from model.engine.cpu.kernels.board import is_open
from model.engine.cpu.kernels.flat import add_exponentials, any_above, get, maximum, put
from model.engine.cpu.kernels.jit import kernel
from model.engine.cpu.kernels.linear import NO_FLOOR, multiply, prepare, project_prepared
from model.engine.cpu.kernels.llvm import LANES
from model.engine.cpu.kernels.packing import Linear
from model.engine.cpu.kernels.tile import COLUMNS
from model.engine.cpu.kernels.types import Flags, Floats, Ints, Records

LOWEST = np.float32(np.finfo(np.float32).min)
"""Less than every logit but −∞, from which it can be subtracted."""

_ASKED = np.dtype(
    [("token", np.int64), ("purpose", np.int64), ("log_prob", np.float32)], align=True
)


class Predictions(NamedTuple):
    """What is to be known of the next token of each row, and what is.

    n_wanted           [R], how many of the most probable tokens, at least 1
    tokens, log_probs  [R, ≥ n_wanted], those, best first. `<pad>` is never among them; where there
                       are no more, or NaN, the log-probability is −∞ or NaN. Of equals the lower
                       token comes first
    n_asked, asked     [R] and [R, ≥ n_asked], tokens that are named, what for, and their log_prob,
                       −∞ of `<pad>`
    unk_id             [R], a token that is treated as `<pad>` is, though it counts; or `NO_TOKEN`
    renormalises       [R], whether `<pad>` does not count, so that the others sum to one
    """

    n_wanted: Ints
    tokens: Ints
    log_probs: Floats
    n_asked: Ints
    asked: Records
    unk_id: Ints
    renormalises: Flags


def make_predictions(n_rows: int, most_wanted: int, most_asked: int) -> Predictions:
    """For at most that many rows, and tokens of each."""
    return Predictions(
        n_wanted=np.ones(n_rows, np.int64),
        tokens=np.zeros((n_rows, most_wanted), np.int64),
        log_probs=np.zeros((n_rows, most_wanted), np.float32),
        n_asked=np.zeros(n_rows, np.int64),
        asked=np.zeros((n_rows, most_asked), _ASKED),
        unk_id=np.full(n_rows, NO_TOKEN, np.int64),
        renormalises=np.zeros(n_rows, np.bool_),
    )


@kernel
def predict(
    output: Linear, n_rows: int, pad_id: int, work: Workspace, predictions: Predictions
) -> None:
    """Fill in the predictions for each row of work.x."""
    prepare(work.x, n_rows, output, work.scratch)
    _begin(n_rows, pad_id, work, predictions)
    is_shared = n_rows <= SHARED_ROWS and is_open(work.scratch.board)
    logits = work.all_logits if is_shared else work.logits
    if is_shared:
        project_prepared(work.x, n_rows, output, 0, NO_FLOOR, False, work.scratch, logits)
    for panel in range(output.bias.shape[1] // COLUMNS):
        has_pad = panel == pad_id // COLUMNS
        begin = panel * COLUMNS if is_shared else 0
        for first in range(0, n_rows, LOGIT_ROWS):
            n_together = min(LOGIT_ROWS, n_rows - first)
            if not is_shared:
                multiply(work.x, first, n_together, output, 0, panel, NO_FLOOR, False,
                         work.scratch, logits, 0)  # fmt: skip
            for i in range(n_together):  # all in place: a call would cost more than it does
                row, at = first + i, i * logits.shape[1] + begin
                if has_pad and predictions.renormalises[row]:
                    put(logits, at + pad_id % COLUMNS, np.float32(-np.inf))
                n_wanted = predictions.n_wanted[row]
                if any_above(logits, at, predictions.log_probs[row, n_wanted - 1]):
                    largest = maximum(logits, at, COLUMNS)
                    _raise_highest(work.highest, work.totals, row, largest)
                    _keep_best(logits, at, panel, pad_id, predictions, row)
                if predictions.n_asked[row]:
                    _answer(logits, at, panel, pad_id, predictions, row)
                add_exponentials(logits, at, work.highest[row], work.totals, row * LANES)
    for row in range(n_rows):
        normaliser = work.highest[row] + np.log(work.totals[row].sum())
        for place in range(predictions.n_wanted[row]):
            predictions.log_probs[row, place] -= normaliser
        for place in range(predictions.n_asked[row]):
            predictions.asked[row, place].log_prob -= normaliser


@kernel
def _begin(n_rows: int, pad_id: int, work: Workspace, predictions: Predictions) -> None:
    """Know nothing yet of the rows."""
    for row in range(n_rows):
        work.highest[row] = LOWEST
        work.totals[row] = 0
        for place in range(predictions.n_wanted[row]):
            predictions.tokens[row, place] = pad_id
            predictions.log_probs[row, place] = -np.inf


@kernel
def _raise_highest(highest: Floats, totals: Floats, row: int, logit: np.float32) -> None:
    """Relate a row's sums of exponentials to this logit if it is the largest so far."""
    if logit > highest[row]:
        shift = np.exp(highest[row] - logit)
        for lane in range(LANES):
            totals[row, lane] *= shift
        highest[row] = logit


@kernel
def _keep_best(
    logits: Floats, at: int, panel: int, pad_id: int, predictions: Predictions, row: int
) -> None:
    """Put those of a panel's logits, at an offset, that are among a row's best so far there."""
    best, n_wanted = predictions.log_probs, predictions.n_wanted[row]
    unk_id = predictions.unk_id[row]
    for column in range(COLUMNS):
        logit, token = get(logits, at + column), panel * COLUMNS + column
        if logit > best[row, n_wanted - 1] and token not in (pad_id, unk_id):
            _insert(best, predictions.tokens, row, n_wanted, logit, token)


@kernel
def _answer(
    logits: Floats, at: int, panel: int, pad_id: int, predictions: Predictions, row: int
) -> None:
    """Give a row's tokens that are asked for, where they are in this panel, their logits."""
    first, unk_id = panel * COLUMNS, predictions.unk_id[row]
    for index in range(predictions.n_asked[row]):
        asked = predictions.asked[row, index]
        if first <= asked.token < first + COLUMNS:
            is_never = asked.token in (pad_id, unk_id)
            asked.log_prob = -np.inf if is_never else get(logits, at + asked.token - first)


@kernel
def _insert(best: Floats, tokens: Ints, row: int, n: int, logit: np.float32, token: int) -> None:
    """Put a logit above the last of the n largest among them; of equals the first comes first."""
    place = n - 1
    while place > 0 and logit > best[row, place - 1]:
        best[row, place] = best[row, place - 1]
        tokens[row, place] = tokens[row, place - 1]
        place -= 1
    best[row, place] = logit
    tokens[row, place] = token
