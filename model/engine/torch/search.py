"""A step of beam search on the device, for all slots at once: `model.decoding.beam`, on a `State`.

The host decides from the report which hypotheses are finished and which sentences are done.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from model.decoding.rules import Traits
from model.engine.torch.decoder import Fed, Rows
from model.engine.torch.state import State
from model.transformer.config import TransformerConfig

CHUNK = 128
"""Logits whose maximum is found first, so that the best few are sought in few chunks only."""


def n_continuations(beam: int) -> int:
    """How many continuations of a sentence a step considers. A greedy search needs one."""
    return 1 if beam == 1 else 2 * beam


def report_width(beam: int) -> int:
    """Numbers per slot that a step reports."""
    return 4 * n_continuations(beam) + beam


class Report(NamedTuple):
    """The best continuations of n slots, best first, on the host; C is `n_continuations`.

    scores     [n, C] log-probability of the whole; −∞ for no continuation
    log_probs  [n, C] of the last token
    tokens     [n, C] the last token
    parents    [n, C] the hypothesis that it continues
    chosen     [n, K] which of them survive
    """

    scores: NDArray[np.float32]
    log_probs: NDArray[np.float32]
    tokens: NDArray[np.int32]
    parents: NDArray[np.int32]
    chosen: NDArray[np.int32]

    def of_slots(self, slots: NDArray[np.intp]) -> Report:
        columns: tuple[NDArray[Any], ...] = self
        return Report._make(column[slots] for column in columns)

    def survivors(self) -> Report:
        """Return the columns of the survivors, each [n, K]."""
        columns: tuple[NDArray[Any], ...] = self[:4]
        return Report._make(
            (*(np.take_along_axis(column, self.chosen, 1) for column in columns), self.chosen)
        )

    @classmethod
    def read(cls, rows: NDArray[np.int32], beam: int) -> Report:
        """Split the rows of `State.report`."""
        n = n_continuations(beam)
        scores, log_probs, tokens, parents, chosen = np.split(
            rows, [n, 2 * n, 3 * n, 4 * n], axis=1
        )
        return cls(scores.view(np.float32), log_probs.view(np.float32), tokens, parents, chosen)


def advance(  # noqa: PLR0917
    state: State, rows: Rows, fed: Fed, config: TransformerConfig, traits: Traits, min_length: int
) -> None:
    """Keep the best continuations of the hypotheses fed, and report them. Overwrites the logits.

    None ends before it has `min_length` tokens, without a given one.
    """
    logits, ancestors = fed
    beam = state.sizes.beam
    if min_length:
        is_early = state.length < min_length + (state.first >= 0)
        ends = rows.pick(is_early.repeat_interleave(beam))
        logits[:, config.eos_id] = logits[:, config.eos_id].masked_fill(ends, -torch.inf)
    found = _found(state, rows, logits, config, traits)
    ends = found.tokens == config.eos_id
    live, chosen = found.scores.masked_fill(ends, -torch.inf).topk(beam, dim=1)
    parents = found.parents.gather(1, chosen)
    latest = found.tokens.gather(1, chosen)
    kept = ancestors.gather(1, parents[:, :, None].expand_as(ancestors))
    report = (
        found.scores.view(torch.int32),
        found.log_probs.view(torch.int32),
        found.tokens.int(),
        found.parents.int(),
        chosen.int(),
    )
    joined = torch.cat(report, dim=1)
    # Nothing is allocated from here on: a step that runs out of memory is repeated, and must find
    # the state as it was.
    state.live.copy_(live)
    state.latest.copy_(latest)
    state.ancestors.copy_(kept)
    state.report.copy_(joined)
    state.length.add_(1)


class _Found(NamedTuple):
    """As in `Report`."""

    scores: Tensor
    log_probs: Tensor
    tokens: Tensor
    parents: Tensor


def _found(
    state: State, rows: Rows, logits: Tensor, config: TransformerConfig, traits: Traits
) -> _Found:
    """Return the best continuations of every slot."""
    n_found = n_continuations(state.sizes.beam)
    logits = logits.float()
    # Tokens never chosen; `kept` are those that keep their probability.
    barred = [config.pad_id] if traits.unk_id is None else [config.pad_id, traits.unk_id]
    kept = [logits[:, token, None].clone() for token in barred[traits.renormalises :]]
    for token in barred:
        logits[:, token] = -torch.inf
    best, tokens = top_logits(logits, min(n_found, logits.shape[-1]))
    log_probs = best - _log_sum_exp(logits, torch.cat((best[:, :1], *kept), dim=-1), len(kept))
    n_each = tokens.shape[-1]
    shape = (*state.live.shape, n_each)
    log_probs, tokens = rows.spread(log_probs).view(shape), rows.spread(tokens).view(shape)
    scores = state.live[:, :, None] + log_probs
    # The logits of dead hypotheses may be anything, including NaN.
    scores = scores.masked_fill(state.live.isneginf()[:, :, None], -torch.inf)
    top, at = scores.flatten(1).topk(n_found, dim=1)
    rank = torch.arange(n_found, device=at.device)
    if traits.narrows:
        width = state.live.isfinite().sum(dim=1, keepdim=True)
        starts = state.length[:, None] == 0
        beyond = torch.where(starts, rank >= state.sizes.beam, rank >= width)
        top = top.masked_fill(beyond, -torch.inf)
    found = _Found(
        top,
        log_probs.flatten(1).gather(1, at),
        tokens.flatten(1).gather(1, at),
        at // n_each,
    )
    return _with_first(state, found)


def _log_sum_exp(logits: Tensor, largest: Tensor, n_kept: int) -> Tensor:
    """log Σ exp over [R, V] and the last `n_kept` of `largest` [R, …] → [R, 1].

    No logit exceeds the maximum of `largest`, which saves a pass over the logits; overwriting them
    saves memory.
    """
    most = largest.amax(dim=-1, keepdim=True)
    total = logits.sub_(most).exp_().sum(dim=-1, keepdim=True)
    kept = largest[:, largest.shape[-1] - n_kept :]
    return most + (total + (kept - most).exp().sum(dim=-1, keepdim=True)).log()


def _with_first(state: State, found: _Found) -> _Found:
    """Replace the continuations where the first token is given, at no cost."""
    given = ((state.first >= 0) & (state.length == 0))[:, None]
    rank = torch.arange(found.scores.shape[1], device=found.scores.device)
    return _Found(
        torch.where(given, torch.where(rank == 0, 0.0, -torch.inf), found.scores),
        found.log_probs.masked_fill(given, 0.0),
        torch.where(given, state.first[:, None], found.tokens),
        found.parents.masked_fill(given, 0),
    )


def top_logits(logits: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Return the n largest of [R, V] and their indices, each [R, n]; any NaN comes first.

    Only the n chunks with the largest maxima are searched.
    """
    vocab_size = logits.shape[-1]
    if vocab_size < 4 * n * CHUNK:
        return logits.topk(n)
    n_whole = vocab_size // CHUNK
    whole, rest = logits.split((n_whole * CHUNK, vocab_size - n_whole * CHUNK), dim=-1)
    maxima = whole.unflatten(-1, (n_whole, CHUNK)).amax(dim=-1)
    if rest.shape[-1]:
        maxima = functional.pad(maxima, (0, 1))
        maxima[:, -1] = rest.amax(dim=-1)
    chunks = maxima.topk(n).indices
    indices = (chunks[:, :, None] * CHUNK + torch.arange(CHUNK, device=logits.device)).flatten(1)
    beyond = indices >= vocab_size
    candidates = logits.gather(1, indices.clamp(max=vocab_size - 1)).masked_fill(beyond, -torch.inf)
    best, at = candidates.topk(n)
    return best, indices.gather(1, at)
