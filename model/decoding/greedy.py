"""Greedy search: the most probable token at every step."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from model.decoding.agreement import Steps, agreed_ids, finished
from model.decoding.distribution import next_log_probs
from model.decoding.hypothesis import Hypothesis, SearchOptions, finished_hypothesis
from model.decoding.limits import token_limits
from model.transformer.transformer import Transformer


def greedy_search(
    model: Transformer, source_ids: Tensor, options: SearchOptions
) -> list[list[Hypothesis]]:
    """[B, S] right-padded ids → one list with one hypothesis per sentence."""
    return finished(greedy_steps(model, source_ids, options))


@torch.inference_mode()
def greedy_steps(model: Transformer, source_ids: Tensor, options: SearchOptions) -> Steps:
    """`greedy_search` as a generator that yields after every token but the last."""
    config = model.config
    limits = token_limits(source_ids, config, options)
    cache = model.start(model.encode(source_ids))
    latest = source_ids.new_full((len(source_ids),), config.start_id)
    is_over = torch.zeros_like(latest, dtype=torch.bool)
    ids: list[Tensor] = []
    log_probs: list[Tensor] = []
    for length in range(1, int(limits.max()) + 1):
        distribution = next_log_probs(
            model.step(latest, cache), config, options, at_limit=limits <= length
        )
        log_prob, latest = distribution.max(dim=-1)
        ids.append(latest)
        log_probs.append(log_prob)
        is_over |= (latest == config.eos_id) | (limits <= length)
        if is_over.all():
            break
        yield partial(_said, ids, limits, config.eos_id)
    rows = zip(
        torch.stack(ids, dim=1).tolist(),
        torch.stack(log_probs, dim=1).tolist(),
        limits.tolist(),
        strict=True,
    )
    return [
        [finished_hypothesis(row_ids, row_log_probs, config.eos_id, options, limit)]
        for row_ids, row_log_probs, limit in rows
    ]


def _said(ids: list[Tensor], limits: Tensor, eos_id: int) -> list[list[int]]:
    rows = torch.stack(ids, dim=1).cpu()
    return [
        agreed_ids(row[None, :limit], {eos_id})
        for row, limit in zip(rows, limits.tolist(), strict=True)
    ]
