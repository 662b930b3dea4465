"""§3.4: from the decoder's output to the best next tokens of each row, without a full softmax.

Logits are made in panels of 64 columns. Of each panel only its largest logit and its sum of
exponentials are kept: together they give the log-sum-exp of the row, and tell which few panels
can hold one of its best tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from model.engine.cpu.flat import (
    get,
    maximum,
    maximum_below,
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
    """Fill in what is to be known of each row of work.x."""
    tokens, log_probs, n_wanted = predictions.tokens, predictions.log_probs, predictions.n_wanted
    unk_id = predictions.unk_id
    n_tokens = output.bias.shape[1]
    n_panels, stride = n_tokens // COLUMNS, work.panel_max.shape[1]
    prepare(work.x, n_rows, output, work.scratch)
    for first in range(0, n_rows, LOGIT_ROWS):
        chunk = min(LOGIT_ROWS, n_rows - first)
        for panel in range(n_panels):
            multiply(work.x, first, chunk, output, 0, panel, NO_FLOOR, False, work.scratch,
                     work.logits)  # fmt: skip
            for i in range(chunk):
                if panel == pad_id // COLUMNS and predictions.renormalises[first + i]:
                    put(work.logits, i * n_tokens + pad_id, np.float32(-np.inf))
                place = (first + i) * stride + panel
                summarise(work.logits, i * n_tokens + panel * COLUMNS, work.panel_max, place,
                          work.panel_sum, place)  # fmt: skip
        for i in range(chunk):
            row = first + i
            _select(work.logits, i * n_tokens, work.panel_max, row * stride, n_panels, pad_id,
                    unk_id[row], n_wanted[row], tokens, log_probs, row)  # fmt: skip
            highest = maximum(work.panel_max, row * stride, n_panels)
            total = sum_of_scaled_exponentials(work.panel_max, row * stride, work.panel_sum,
                                               row * stride, n_panels, highest)  # fmt: skip
            normaliser = highest + np.log(total)
            for place in range(n_wanted[row]):
                log_probs[row, place] -= normaliser
            for place in range(predictions.n_asked[row]):
                asked = predictions.asked[row, place]
                logit = get(work.logits, i * n_tokens + asked.token)
                is_never = asked.token == pad_id or asked.token == unk_id[row]
                asked.log_prob = -np.inf if is_never else logit - normaliser


@kernel
def _select(
    logits: Floats, at: int, panel_max: Floats, panel_at: int, n_panels: int, pad_id: int,
    unk_id: int, n_wanted: int, tokens: Ints, best: Floats, row: int,
) -> None:  # fmt: skip
    """best[row], tokens[row]: the largest logits and their tokens, in order.

    With the n-th largest of the panels' maxima as a bound there are n logits not below it. One
    more is allowed for, since one of them may be that of `<pad>`, and one for `<unk>`.
    """
    bound = np.float32(np.inf)
    for _ in range(n_wanted + (1 if unk_id == NO_TOKEN else 2)):
        bound = maximum_below(panel_max, panel_at, n_panels, bound)
    for place in range(n_wanted):
        best[row, place] = -np.inf
        tokens[row, place] = pad_id
    for panel in range(n_panels):
        if get(panel_max, panel_at + panel) >= bound:
            for token in range(panel * COLUMNS, (panel + 1) * COLUMNS):
                logit = get(logits, at + token)
                if logit >= bound and token not in (pad_id, unk_id):
                    _insert(best, tokens, row, n_wanted, logit, token)


@kernel
def _insert(best: Floats, tokens: Ints, row: int, n: int, logit: np.float32, token: int) -> None:
    """Keep the n largest in order; of equals the one that came first."""
    if not logit > best[row, n - 1]:
        return
    place = n - 1
    while place > 0 and logit > best[row, place - 1]:
        best[row, place] = best[row, place - 1]
        tokens[row, place] = tokens[row, place - 1]
        place -= 1
    best[row, place] = logit
    tokens[row, place] = token
