"""Beam search; the reference for engines, which return the same results.

The rule. At every step each sentence keeps the K live hypotheses with the highest log-probability.
Among the 2K best continuations, those that end the sentence and rank among the first K become
finished; the best K that do not end it survive. This continues to the token limit, and the result
is the n best of all finished hypotheses by length-normalised score; hypotheses cut at the limit
come only after finished ones. With K = 1, of one continuation and not of two, the search is greedy
and ends at the first end-of-sentence token.

Stopping early is exact: normalised scores only rise with length at a fixed log-probability, so a
live hypothesis can at best reach its log-probability over the normalisation at the token limit.
A sentence ends once its n-th best finished score is at least that of its best live one.

With `SearchOptions.rule` the same loop searches by the rule of `transformers` or of Marian: what
differs is in `model.decoding.rules.Traits`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from model.decoding.agreement import Steps, agreed_ids, finished
from model.decoding.distribution import allowed_tokens, drawn_numbers, next_log_probs
from model.decoding.hypothesis import Hypothesis, SearchOptions, best_first, finished_hypothesis
from model.decoding.rules import BEHIND_FINISHED
from model.decoding.stopping import token_limits, unsettled
from model.transformer.transformer import Transformer


@dataclass
class _Live:
    """Hypotheses of each sentence, best first: scores [B, K], −∞ where there is none.

    ids and log_probs [B, K, T] are their tokens and those tokens' log-probabilities.
    """

    scores: Tensor
    ids: Tensor
    log_probs: Tensor

    def continued(self, log_probs: Tensor, most: int) -> tuple[_Live, Tensor]:
        """Best continuations by a token, of log_probs [B, K, V], and whose each is [B, most]."""
        scores = (self.scores[:, :, None] + log_probs).flatten(1)
        top_scores, top = scores.topk(min(most, scores.shape[1]), dim=1)
        parent, token = top // log_probs.shape[-1], top % log_probs.shape[-1]
        of_token = log_probs.flatten(1).gather(1, top)[:, :, None]
        ids = torch.cat((_gather_rows(self.ids, parent), token[:, :, None]), dim=2)
        history = torch.cat((_gather_rows(self.log_probs, parent), of_token), dim=2)
        return _Live(top_scores, ids, history), parent

    def best(self, keep: int, among: Tensor) -> tuple[_Live, Tensor]:
        """The best `keep` of those that `among` [B, K] names, and which they are [B, keep]."""
        scores, chosen = self.scores.masked_fill(~among, -torch.inf).topk(keep, dim=1)
        ids, log_probs = _gather_rows(self.ids, chosen), _gather_rows(self.log_probs, chosen)
        return _Live(scores, ids, log_probs), chosen


@dataclass
class _Pool:
    """The best finished hypotheses of each sentence, best first.

    scores [B, K] (−∞ if empty), ids and log_probs [B, K, T], which grow by a column per step.
    """

    scores: Tensor
    ids: Tensor
    log_probs: Tensor

    def add(self, scores: Tensor, found: _Live) -> None:
        """Keep the best K of those kept before and those found, whose scores are [B, C] here."""
        keep = self.scores.shape[1]
        self.scores, order = torch.cat((self.scores, scores), dim=1).topk(keep, dim=1)
        self.ids = _gather_rows(torch.cat((self.ids, found.ids), dim=1), order)
        self.log_probs = _gather_rows(torch.cat((self.log_probs, found.log_probs), dim=1), order)

    def grow(self, pad_id: int) -> None:
        """Add a column, so that the pool is as wide as the live hypotheses."""
        self.ids = torch.nn.functional.pad(self.ids, (0, 1), value=pad_id)
        self.log_probs = torch.nn.functional.pad(self.log_probs, (0, 1))


def beam_search(
    model: Transformer, source_ids: Tensor, options: SearchOptions
) -> list[list[Hypothesis]]:
    """[B, S] right-padded ids → for each sentence its n best hypotheses, best first."""
    return finished(beam_steps(model, source_ids, options))


@torch.inference_mode()
def beam_steps(model: Transformer, source_ids: Tensor, options: SearchOptions) -> Steps:
    """`beam_search` as a generator that yields after every token but the last."""
    config, traits = model.config, options.traits
    n_sentences, beam = len(source_ids), options.beam_size
    limits = token_limits(source_ids, config, options)
    allowed = allowed_tokens(source_ids, config, options)
    if allowed is not None:
        allowed = allowed.repeat_interleave(beam, dim=0)
    draws = drawn_numbers(source_ids, config, options)
    sentence = torch.arange(n_sentences, device=source_ids.device)
    cache = model.start(model.encode(source_ids)).select(sentence.repeat_interleave(beam))
    first_row = sentence[:, None] * beam

    # Start with one live hypothesis; the others are unreachable until step 1 fills them.
    scores = torch.full((n_sentences, beam), -torch.inf, device=source_ids.device)
    none = source_ids.new_empty(n_sentences, beam, 0)
    pool = _Pool(scores, none, scores.new_empty(n_sentences, beam, 0))
    live = _Live(scores.clone(), none, pool.log_probs)
    live.scores[:, 0] = 0
    latest = source_ids.new_full((n_sentences * beam,), config.start_id)
    at_limit_normalisation = scores.new_tensor(
        [options.normalisation(limit) for limit in limits.tolist()]
    )
    running = torch.ones_like(limits, dtype=torch.bool)
    width = torch.full_like(limits, beam)

    for length in range(1, int(limits.max()) + 1):
        capped = running & (limits <= length)
        log_probs = next_log_probs(
            model.step(latest, cache), config, options, capped.repeat_interleave(beam),
            live.ids.flatten(0, 1), allowed=allowed, draws=draws,
        )  # fmt: skip
        log_probs = log_probs.view(n_sentences, beam, -1)
        found, parent = live.continued(log_probs, 1 if beam == 1 else 2 * beam)
        if traits.narrows:
            beyond = torch.arange(found.scores.shape[1], device=width.device) >= width[:, None]
            found.scores = found.scores.masked_fill(beyond, -torch.inf)

        ends = found.ids[:, :, -1] == config.eos_id
        finishes = ends & running[:, None]
        if traits.at_limit != "behind":
            finishes |= capped[:, None] & found.scores.isfinite()
        finishes[:, beam:] = False
        pool.grow(config.pad_id)
        normalisation = options.normalisation(length)
        pool.add((found.scores / normalisation).masked_fill(~finishes, -torch.inf), found)

        live, chosen = found.best(beam, among=~ends)
        latest = live.ids[:, :, -1].flatten()
        width = live.scores.isfinite().sum(dim=1)
        if beam > 1:
            cache.reorder((first_row + parent.gather(1, chosen)).flatten())

        if traits.at_limit == "behind" and capped.any():
            pool.add(_behind_finished(live.scores, capped), live)
        best_now = live.scores[:, 0] / normalisation
        at_limit = live.scores / at_limit_normalisation[:, None]
        running &= ~capped & unsettled(pool.scores, best_now, at_limit[:, 0], options)
        if not running.any():
            break
        at_limit = at_limit.masked_fill(~running[:, None], -torch.inf)
        yield partial(_agreed, live.ids, at_limit, pool, options, {config.eos_id, config.pad_id})
    return _answers(pool, limits, config.eos_id, options)


def _agreed(
    live_ids: Tensor,
    at_limit: Tensor,
    pool: _Pool,
    options: SearchOptions,
    ends: set[int],
) -> list[list[int]]:
    """Return the common prefix of the n best finished ones and of live ones that may join them.

    A hypothesis beyond the n best never returns: the pool only improves. Live ones score at most
    `at_limit` [B, K].
    """
    n_best = options.n_best
    may_come = at_limit > pool.scores[:, n_best - 1, None]
    is_possible = torch.cat((may_come, pool.scores[:, :n_best].isfinite()), dim=1)
    rows = torch.cat((live_ids, pool.ids[:, :n_best]), dim=1).cpu()
    return [
        agreed_ids(of_one[possible].tolist(), ends)
        for of_one, possible in zip(rows, is_possible.cpu(), strict=True)
    ]


def _gather_rows(x: Tensor, index: Tensor) -> Tensor:
    """x [B, N, T] and index [B, M] → the M selected rows of each sentence [B, M, T]."""
    return x.gather(1, index[:, :, None].expand(-1, -1, x.shape[2]))


def _behind_finished(live_scores: Tensor, capped: Tensor) -> Tensor:
    """Pool scores [B, K] that rank hypotheses cut at the limit after all finished ones."""
    rank = torch.arange(1, live_scores.shape[1] + 1, device=live_scores.device)
    usable = capped[:, None] & live_scores.isfinite()
    return torch.where(usable, BEHIND_FINISHED * rank, -torch.inf)


def _answers(
    pool: _Pool, limits: Tensor, eos_id: int, options: SearchOptions
) -> list[list[Hypothesis]]:
    n_found = pool.scores.isfinite().sum(dim=1).clamp(max=options.n_best).tolist()
    sentences = zip(
        pool.ids.tolist(), pool.log_probs.tolist(), limits.tolist(), n_found, strict=True
    )
    found = (
        [
            finished_hypothesis(row, row_log_probs, eos_id, options, limit)
            for row, row_log_probs in zip(ids[:n], log_probs[:n], strict=True)
        ]
        for ids, log_probs, limit, n in sentences
    )
    return [best_first(hypotheses, options) for hypotheses in found]
