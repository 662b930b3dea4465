"""The distribution over the allowed next tokens."""

import numpy as np
import torch
from torch import Tensor

from model.decoding.hypothesis import SearchOptions
from model.decoding.processors import N_SAMPLED, NO_PROCESSORS
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


def drawn_numbers(
    source_ids: Tensor, config: TransformerConfig, options: SearchOptions
) -> Tensor | None:
    """[B, S] → [B, positions], the random numbers of each sentence, if tokens are drawn."""
    if not options.temperature:
        return None
    rows = [[one for one in ids if one != config.pad_id] for ids in source_ids.tolist()]
    draws = np.stack([options.draws(ids, config.max_length) for ids in rows])
    return torch.from_numpy(draws).to(source_ids.device)


def next_log_probs(
    logits: Tensor,
    config: TransformerConfig,
    options: SearchOptions,
    at_limit: Tensor,
    ids: Tensor,
    *,
    allowed: Tensor | None = None,
    draws: Tensor | None = None,
) -> Tensor:
    """Logits [R, V] → log-probabilities [R, V], −∞ for tokens that must not be chosen.

    The tokens of every row so far are `ids` [R, T]; `at_limit` [R] is True where the next one is
    the last. Only tokens in `allowed` [R or 1, V] have a probability. With a temperature, only the
    token that the random number of the position in `draws` [R, positions] selects has one.
    """
    length = 1 + ids.shape[1]
    if allowed is not None:
        logits = logits.masked_fill(~allowed, -torch.inf)
    has_processors = options.processors != NO_PROCESSORS
    if has_processors and options.processes_logits:
        logits = _processed(logits.float(), config, options, ids)
    log_probs = given_log_probs(logits, config, options)
    if has_processors and not options.processes_logits:
        log_probs = _processed(log_probs, config, options, ids)
    if options.traits.unk_id is not None:
        log_probs[:, options.traits.unk_id] = -torch.inf
    if length <= options.n_given:
        log_probs = torch.full_like(log_probs, -torch.inf)
        log_probs[:, options.first_id] = 0
    if options.traits.forces_end:
        log_probs = log_probs.masked_fill(at_limit[:, None], -torch.inf)
        log_probs[at_limit, config.eos_id] = 0
    if draws is not None:
        log_probs = _drawn(log_probs, options.temperature, draws[:, length - 1])
    return log_probs


def _processed(
    scores: Tensor, config: TransformerConfig, options: SearchOptions, ids: Tensor
) -> Tensor:
    """Scores [R, V], logits or log-probabilities, as `options.processors` change them."""
    processors, scores = options.processors, scores.clone()
    start = [config.start_id] if options.traits.processors == "transformers" else []
    penalty = processors.repetition_penalty
    for row, of_row in zip(scores, ids.tolist(), strict=True):
        present = list(dict.fromkeys([*start, *of_row]))
        row[present] = torch.where(row[present] < 0, row[present] * penalty, row[present] / penalty)
        row[list(processors.forbidden(start, of_row))] = -torch.inf
    if not processors.may_end(ids.shape[1], options.n_given):
        scores[:, config.eos_id] = -torch.inf
    return scores


def _drawn(log_probs: Tensor, temperature: float, draw: Tensor) -> Tensor:
    """Log-probabilities [R, V] → those of the tokens that `draw` [R] selects, else −∞."""
    best, tokens = log_probs.topk(min(N_SAMPLED, log_probs.shape[1]), dim=1)
    cumulative = ((best - best[:, :1]).double() / temperature).exp().cumsum(dim=1)
    passed = cumulative <= draw[:, None] * cumulative[:, -1:]
    rank = passed.sum(dim=1, keepdim=True)
    only = torch.full_like(log_probs, -torch.inf)
    return only.scatter_(1, tokens.gather(1, rank), best.gather(1, rank))


def given_log_probs(logits: Tensor, config: TransformerConfig, options: SearchOptions) -> Tensor:
    """Logits [R, V] → log-probabilities of a given translation's tokens; −∞ only for `<pad>`."""
    log_probs = logits.float().log_softmax(dim=-1)
    log_probs[:, config.pad_id] = -torch.inf
    return log_probs.log_softmax(dim=-1) if options.traits.renormalises else log_probs
