"""§3.4: from the decoder's output to the best next tokens of each row, without a full softmax.

Logits are computed in panels of 64 columns and never stored: they would fill the cache many times
over. Only the largest logit and the sum of exponentials of each panel are kept, which give the
log-sum-exp of the row, and the best tokens so far, which few panels change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from model.engine.cpu.flat import (
    get,
    maximum,
    put,
    sum_of_scaled_exponentials,
    summarise,
)
from model.engine.cpu.jit import kernel
from model.engine.cpu.linear import NO_FLOOR, multiply, prepare
from model.engine.cpu.packing import Linear
from model.engine.cpu.rules import NO_TOKEN
from model.engine.cpu.tile import COLUMNS
from model.engine.cpu.types import Flags, Floats, Ints, Records
from model.engine.cpu.workspace import LOGIT_ROWS, Workspace

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
    n_panels, stride = output.bias.shape[1] // COLUMNS, work.panel_max.shape[1]
    prepare(work.x, n_rows, output, work.scratch)
    for row in range(n_rows):
        for place in range(predictions.n_wanted[row]):
            predictions.tokens[row, place] = pad_id
            predictions.log_probs[row, place] = -np.inf
    for panel in range(n_panels):
        for first in range(0, n_rows, LOGIT_ROWS):
            n_together = min(LOGIT_ROWS, n_rows - first)
            multiply(work.x, first, n_together, output, 0, panel, NO_FLOOR, False, work.scratch,
                     work.logits, 0)  # fmt: skip
            for i in range(n_together):
                _read_panel(panel, work.logits, i * COLUMNS, pad_id, work, predictions, first + i)
    for row in range(n_rows):
        highest = maximum(work.panel_max, row * stride, n_panels)
        total = sum_of_scaled_exponentials(work.panel_max, row * stride, work.panel_sum,
                                           row * stride, n_panels, highest)  # fmt: skip
        normaliser = highest + np.log(total)
        for place in range(predictions.n_wanted[row]):
            predictions.log_probs[row, place] -= normaliser
        for place in range(predictions.n_asked[row]):
            predictions.asked[row, place].log_prob -= normaliser


@kernel
def _read_panel(
    panel: int, logits: Floats, at: int, pad_id: int, work: Workspace, predictions: Predictions,
    row: int,
) -> None:  # fmt: skip
    """Keep of a row's 64 logits, at an offset, what there is to be known of them."""
    best, unk_id, first = predictions.log_probs, predictions.unk_id[row], panel * COLUMNS
    if first <= pad_id < first + COLUMNS and predictions.renormalises[row]:
        put(logits, at + pad_id - first, np.float32(-np.inf))
    place = row * work.panel_max.shape[1] + panel
    summarise(logits, at, work.panel_max, place, work.panel_sum, place)
    n_wanted = predictions.n_wanted[row]
    if get(work.panel_max, place) > best[row, n_wanted - 1]:
        for token in range(first, first + COLUMNS):
            logit = get(logits, at + token - first)
            if logit > best[row, n_wanted - 1] and token not in (pad_id, unk_id):
                _insert(best, predictions.tokens, row, n_wanted, logit, token)
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
