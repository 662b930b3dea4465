"""The distribution over the allowed next tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from model.decoding.hypothesis import SearchOptions
from model.transformer.config import TransformerConfig


def next_log_probs(
    logits: Tensor,
    config: TransformerConfig,
    options: SearchOptions,
    length: int,
    at_limit: Tensor,
) -> Tensor:
    """Logits [R, V] → log-probabilities [R, V], −∞ for tokens that must not be chosen.

    The next token is the `length`-th of every row; `at_limit` [R] is True where it is the last.
    """
    log_probs = given_log_probs(logits, config, options)
    if options.traits.unk_id is not None:
        log_probs[:, options.traits.unk_id] = -torch.inf
    if length <= options.n_given:
        log_probs = torch.full_like(log_probs, -torch.inf)
        log_probs[:, options.first_id] = 0
    if options.traits.forces_end:
        log_probs = log_probs.masked_fill(at_limit[:, None], -torch.inf)
        log_probs[at_limit, config.eos_id] = 0
    return log_probs


def given_log_probs(logits: Tensor, config: TransformerConfig, options: SearchOptions) -> Tensor:
    """Logits [R, V] → log-probabilities of a given translation's tokens; −∞ only for `<pad>`."""
    log_probs = logits.float().log_softmax(dim=-1)
    log_probs[:, config.pad_id] = -torch.inf
    return log_probs.log_softmax(dim=-1) if options.traits.renormalises else log_probs
