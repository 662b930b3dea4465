"""The distribution over the allowed next tokens."""

import torch
from torch import Tensor

from model.decoding.hypothesis import SearchOptions
from model.transformer.config import TransformerConfig


def allowed_tokens(
    source_ids: Tensor, config: TransformerConfig, options: SearchOptions
) -> Tensor | None:
    """[B, S] → [B, V], the candidates of each sentence by the shortlist, if there is one."""
    if options.shortlist is None:
        return None
    allowed = torch.zeros(len(source_ids), config.target_vocab_size, dtype=torch.bool)
    for row, ids in zip(allowed, source_ids.tolist(), strict=True):
        row[options.shortlist.candidates(ids, options.constraints)] = True
    return allowed.to(source_ids.device)


def next_log_probs(
    logits: Tensor,
    config: TransformerConfig,
    options: SearchOptions,
    length: int,
    at_limit: Tensor,
    *,
    allowed: Tensor | None = None,
) -> Tensor:
    """Logits [R, V] → log-probabilities [R, V], −∞ for tokens that must not be chosen.

    The next token is the `length`-th of every row; `at_limit` [R] is True where it is the last.
    Only tokens in `allowed` [R or 1, V] have a probability.
    """
    if allowed is not None:
        logits = logits.masked_fill(~allowed, -torch.inf)
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
