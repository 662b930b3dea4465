"""§3.4: from the decoder's output to the best next tokens of each row, without a full softmax.

Logits are made in panels of 64 columns. Of each panel only its largest logit and its sum of
exponentials are kept: together they give the log-sum-exp of the row, and tell which few panels
can hold one of its best tokens.
"""

from __future__ import annotations

import numpy as np

from model.engine.cpu.elementary import exponential
from model.engine.cpu.jit import kernel, reordered_kernel
from model.engine.cpu.linear import NO_FLOOR, Floats, Linear, multiply, prepare
from model.engine.cpu.slots import Ints
from model.engine.cpu.tile import COLUMNS
from model.engine.cpu.workspace import LOGIT_ROWS, Workspace


@kernel
def predict(
    output: Linear, n_rows: int, n_wanted: Ints, pad_id: int, work: Workspace, tokens: Ints,
    log_probs: Floats,
) -> None:  # fmt: skip
    """The n_wanted[row] most probable tokens of each row of work.x, best first.

    tokens and log_probs [R, ≥ wanted]. `<pad>` is never among them; where there are no more, or
    NaN, the log-probability is −∞ or NaN. Of equals the lower token comes first.
    """
    n_panels = output.bias.shape[1] // COLUMNS
    prepare(work.x, n_rows, output, work.scratch)
    for first in range(0, n_rows, LOGIT_ROWS):
        chunk = min(LOGIT_ROWS, n_rows - first)
        for panel in range(n_panels):
            multiply(work.x, first, chunk, output, 0, panel, NO_FLOOR, False, work.scratch,
                     work.logits)  # fmt: skip
            for i in range(chunk):
                _summarise(
                    work.logits[i, panel * COLUMNS : (panel + 1) * COLUMNS],
                    work.panel_max[first + i],
                    work.panel_sum[first + i],
                    panel,
                )
        for i in range(chunk):
            row = first + i
            _select(work.logits[i], work.panel_max[row], pad_id, n_wanted[row], tokens[row],
                    log_probs[row])  # fmt: skip
            normaliser = _log_sum_exp(work.panel_max[row], work.panel_sum[row])
            for place in range(n_wanted[row]):
                log_probs[row, place] -= normaliser


@reordered_kernel
def _summarise(logits: Floats, panel_max: Floats, panel_sum: Floats, panel: int) -> None:
    highest = np.float32(-np.inf)
    for i in range(COLUMNS):
        highest = max(highest, logits[i])
    total = np.float32(0)
    for i in range(COLUMNS):
        total += exponential(logits[i] - highest)
    panel_max[panel] = highest
    panel_sum[panel] = total


@reordered_kernel
def _log_sum_exp(panel_max: Floats, panel_sum: Floats) -> np.float32:
    highest = np.float32(-np.inf)
    for panel in range(len(panel_max)):
        highest = max(highest, panel_max[panel])
    total = np.float32(0)
    for panel in range(len(panel_max)):
        total += panel_sum[panel] * exponential(panel_max[panel] - highest)
    return highest + np.log(total)


@kernel
def _select(
    logits: Floats, panel_max: Floats, pad_id: int, n_wanted: int, tokens: Ints, best: Floats
) -> None:
    """The largest logits and their tokens, in order."""
    best[:n_wanted] = -np.inf
    tokens[:n_wanted] = pad_id
    for panel in range(len(panel_max)):
        if not panel_max[panel] > best[n_wanted - 1]:
            continue
        for token in range(panel * COLUMNS, (panel + 1) * COLUMNS):
            logit = logits[token]
            if logit > best[n_wanted - 1] and token != pad_id:
                place = n_wanted - 1
                while place > 0 and logit > best[place - 1]:
                    best[place] = best[place - 1]
                    tokens[place] = tokens[place - 1]
                    place -= 1
                best[place] = logit
                tokens[place] = token
