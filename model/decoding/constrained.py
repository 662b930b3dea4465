"""Search for translations that contain given terms; the reference for engines.

The method is that of Post & Vilar 2018, "Fast Lexically Constrained Decoding with Dynamic Beam
Allocation for Neural Machine Translation" (NAACL), with two changes. A *bank* holds the hypotheses
with the same number of completed terms, not tokens, or within one more; and a started term must be
completed, while a hypothesis with the same first token that does not start the term is kept as
well. So no hypothesis has to be unwound. Within a term, a hypothesis ranks by its score at the
term's first token, since those that start later have not paid for the rest yet.

The rule. The continuations of a hypothesis are its 2W most probable tokens and, for each term that
it has not started, the first token of each wording that fits; within a term, only the next token.
After a term, no letter or digit may follow. A hypothesis may end when it contains all terms, and
must leave enough tokens for the remaining terms before the token limit. The beam of W hypotheses is
divided evenly among the non-empty banks, for the best of each; shares that a bank cannot fill go to
the best of all others. Those that end among the first K of the last bank are finished. The end of
the search and the result are as in beam search, also with K = 1.

Equal hypotheses (the same tokens in the same state) are kept once. Ties go to the smaller bank.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from model.decoding.agreement import Steps, agreed_ids
from model.decoding.agreement import finished as finished_by
from model.decoding.beam import beam_steps
from model.decoding.constraints import FIRST, GLUED, Constraint, PieceEdges, Wording
from model.decoding.distribution import allowed_tokens, next_log_probs
from model.decoding.hypothesis import Hypothesis, SearchOptions, best_first, finished_hypothesis
from model.decoding.rules import BEHIND_FINISHED
from model.decoding.stopping import unsettled
from model.transformer.transformer import Transformer


@dataclass(frozen=True)
class Progress:
    """A hypothesis's progress with the terms.

    started  for each constraint, whether it was started
    within   the wording in progress, and `position`, its tokens so far
    closed   a term has just ended that no letter or digit may follow
    """

    started: tuple[bool, ...]
    within: Wording | None = None
    position: int = 0
    closed: bool = False

    @property
    def bank(self) -> int:
        """See `n_banks`."""
        return 2 * sum(self.started) - (self.within is not None)

    @property
    def done(self) -> bool:
        """Whether all terms are complete."""
        return all(self.started) and self.within is None

    def start(self, index: int, wording: Wording) -> Progress:
        """Return the progress after the first token of a wording."""
        started = (*self.started[:index], True, *self.started[index + 1 :])
        return _after(started, wording, 1)

    def n_missing(self, constraints: Sequence[Constraint]) -> int:
        """Tokens that the terms still require."""
        rest = len(self.within.ids) - self.position if self.within else 0
        return rest + sum(
            constraint.n_tokens
            for constraint, started in zip(constraints, self.started, strict=True)
            if not started
        )


@dataclass(frozen=True)
class _Live:
    """A hypothesis, with its row in the cache.

    score  its log-probability
    rank   what it is ranked by: the score, within a term that at the term's start
    """

    score: float
    rank: float
    ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    progress: Progress
    row: int


def constrained_search(
    model: Transformer, source_ids: Tensor, options: SearchOptions, edges: PieceEdges
) -> list[Hypothesis]:
    """[1, S] → the n best hypotheses that contain `options.constraints`, best first.

    Constraints that do not fit into the token limit are dropped, and nothing is drawn.
    """
    [found] = finished_by(constrained_steps(model, source_ids, options, edges))
    return found


@torch.inference_mode()
def constrained_steps(
    model: Transformer, source_ids: Tensor, options: SearchOptions, edges: PieceEdges
) -> Steps:
    """`constrained_search` as a generator that yields after every token but the last."""
    config, beam = model.config, options.beam_size
    limit, constraints, width = options.limits(source_ids.shape[1], config.max_length)
    normalisation_at_limit = options.normalisation(limit)
    n_usable = limit - options.traits.forces_end
    if not constraints:
        return (yield from beam_steps(model, source_ids, options))
    allowed = allowed_tokens(source_ids, config, options)
    cache = model.start(model.encode(source_ids))
    live = [_Live(0.0, 0.0, (), (), Progress((False,) * len(constraints)), 0)]
    finished: list[tuple[float, _Live]] = []

    for length in range(1, limit + 1):
        latest = [one.ids[-1] if one.ids else config.start_id for one in live]
        cache = cache.select(source_ids.new_tensor([one.row for one in live]))
        at_limit = torch.full((len(live),), length == limit, device=source_ids.device)
        log_probs = next_log_probs(
            model.step(source_ids.new_tensor(latest), cache), config, options, at_limit,
            source_ids.new_tensor([one.ids for one in live]), allowed=allowed,
        )  # fmt: skip
        likely = log_probs.topk(min(2 * width, log_probs.shape[1])).indices.tolist()
        candidates: dict[object, _Live] = {}
        for row, (one, tokens, row_log_probs) in enumerate(
            zip(live, likely, log_probs.tolist(), strict=True)
        ):
            for token, progress in _continuations(
                one,
                tokens,
                constraints,
                edges,
                config.eos_id,
                at_start=length == 1 + options.n_given,
            ):
                log_prob = row_log_probs[token]
                n_missing = progress.n_missing(constraints)
                if not math.isfinite(log_prob) or (n_missing and length + n_missing > n_usable):
                    continue
                ids, score = (*one.ids, token), one.score + log_prob
                rank = one.rank if progress.within and one.progress.within else score
                new = _Live(score, rank, ids, (*one.log_probs, log_prob), progress, row)
                candidates.setdefault((ids, progress), new)

        banks: dict[int, list[_Live]] = {}
        for new in sorted(candidates.values(), key=lambda new: -new.rank):
            banks.setdefault(new.progress.bank, []).append(new)
        normalisation = options.normalisation(length)
        at_end = length == limit and options.traits.at_limit != "behind"
        finished += [
            (new.score / normalisation, new)
            for new in banks.get(2 * len(constraints), [])[:beam]
            if at_end or new.ids[-1] == config.eos_id
        ]
        live = _allocate(
            [[one for one in bank if one.ids[-1] != config.eos_id] for bank in banks.values()],
            width,
        )
        if length == limit and options.traits.at_limit == "behind":
            finished += [(BEHIND_FINISHED * rank, one) for rank, one in enumerate(live, start=1)]
        finished = sorted(finished, key=lambda pair: -pair[0])[:beam]
        if not live or length == limit:
            break
        scores = source_ids.new_full((1, beam), -torch.inf, dtype=torch.float32)
        scores[0, : len(finished)] = torch.tensor([score for score, _ in finished])
        best = max(one.score for one in live)
        best_now = scores.new_tensor([best / normalisation])
        best_at_limit = scores.new_tensor([best / normalisation_at_limit])
        if not unsettled(scores, best_now, best_at_limit, options):
            break
        worst = float(scores[0, options.n_best - 1])
        hopeful = [one for one in live if one.score / normalisation_at_limit > worst]
        yield partial(_agreed, hopeful, finished[: options.n_best], config.eos_id)
    found = [
        finished_hypothesis(one.ids, one.log_probs, config.eos_id, options, limit)
        for _, one in finished[: options.n_best]
    ]
    return [best_first(found, options)]


def _agreed(
    live: Sequence[_Live], finished: Sequence[tuple[float, _Live]], eos_id: int
) -> list[list[int]]:
    """Return the common prefix of all hypotheses that may become the best."""
    return [agreed_ids([one.ids for one in (*live, *(one for _, one in finished))], {eos_id})]


def _continuations(
    one: _Live,
    tokens: Sequence[int],
    constraints: Sequence[Constraint],
    edges: PieceEdges,
    eos_id: int,
    *,
    at_start: bool,
) -> Iterator[tuple[int, Progress]]:
    """Return the allowed next tokens, given the most probable `tokens`, with their progress."""
    progress = one.progress
    if progress.within:
        within, position = progress.within, progress.position
        yield within.ids[position], _after(progress.started, within, position + 1)
        return
    outside = Progress(progress.started)
    if progress.done:
        yield eos_id, outside
    for token in tokens:
        if token != eos_id and not (progress.closed and edges.before[token]):
            yield token, outside
    for index, constraint in enumerate(constraints):
        is_next = not index or constraints[index - 1] != constraint or progress.started[index - 1]
        if progress.started[index] or not is_next:
            continue
        for wording in constraint.wordings:
            if _fits(wording, one, at_start, edges):
                yield wording.ids[0], progress.start(index, wording)


def _after(started: tuple[bool, ...], wording: Wording, n: int) -> Progress:
    """Return the progress after n tokens of a wording."""
    if n < len(wording.ids):
        return Progress(started, wording, n)
    return Progress(started, closed=wording.closed)


def _fits(wording: Wording, one: _Live, at_start: bool, edges: PieceEdges) -> bool:
    if wording.where == FIRST:
        return at_start
    if one.progress.closed and edges.before[wording.ids[0]]:
        return False
    if wording.where == GLUED:
        return not at_start and bool(one.ids) and not edges.behind[one.ids[-1]]
    return True


def _allocate(banks: Sequence[Sequence[_Live]], width: int) -> list[_Live]:
    """Select the surviving hypotheses, best first, from banks sorted best first."""

    def order(one: _Live) -> tuple[float, int]:
        return -one.rank, one.progress.bank

    banks = [bank for bank in banks if bank]
    share = width // max(1, len(banks))
    chosen = [one for bank in banks for one in bank[:share]]
    others = sorted((one for bank in banks for one in bank[share:]), key=order)
    return sorted(chosen + others[: width - len(chosen)], key=order)
