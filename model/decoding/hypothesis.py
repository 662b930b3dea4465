"""What a search is asked for and what it returns; no tensors, so that anyone may import it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from model.decoding.constraints import Constraint

MAX_LENGTH_PENALTY = 10.0
"""Far beyond use (0 … 1); more would overflow float32 at the longest lengths."""


@dataclass(frozen=True)
class HuggingFaceRule:
    """Search as `transformers` generates (v5, `GenerationMixin._beam_search`); see docs/interop.md.

    Scores are log-probability over length^α, and hypotheses at the token limit join as they are.
    A sentence is done once K hypotheses are finished and none that lives on can, by the measure
    of `early_stopping`, get past the worst of them.

    early_stopping     True: at once; False: by the score at the present length, a heuristic;
                       "never": by the score at the token limit, which is exact
    force_end          at the token limit every hypothesis ends, at no cost
    renormalise        the probability of `<pad>`, never chosen, is shared out among the others
    max_target_tokens  the cap where a search names none; None is source tokens + 50
    """

    early_stopping: bool | Literal["never"] = False
    force_end: bool = False
    renormalise: bool = False
    max_target_tokens: int | None = None

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  (it travels in a checkpoint)

    def __post_init__(self) -> None:
        if self.max_target_tokens is not None and self.max_target_tokens < 1:
            raise ValueError(f"max_target_tokens must be at least 1, not {self.max_target_tokens}")


@dataclass(frozen=True)
class SearchOptions:
    """How to search; the defaults are the paper's (§6.1). Raises `ValueError`.

    beam_size          K; 1 is greedy search
    n_best             hypotheses to return, 1 … beam_size
    length_penalty     α of Wu et al. 2016, equation 14, at most 10; 0 ranks by log-probability
    max_target_tokens  cap, counting the end-of-sentence token; None is source tokens + 50
    rule               None is this project's, see `model.decoding.beam`
    constraints        terms that the translation has to contain, in the order of their importance
    """

    beam_size: int = 4
    n_best: int = 1
    length_penalty: float = 0.6
    max_target_tokens: int | None = None
    rule: HuggingFaceRule | None = None
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise ValueError(f"beam_size must be at least 1, not {self.beam_size}")
        if not 1 <= self.n_best <= self.beam_size:
            raise ValueError(f"n_best must be 1 … beam_size, not {self.n_best}")
        if not 0 <= self.length_penalty <= MAX_LENGTH_PENALTY:  # NaN fails too
            raise ValueError(
                f"length_penalty must be 0 … {MAX_LENGTH_PENALTY:g}, not {self.length_penalty}"
            )
        if self.max_target_tokens is not None and self.max_target_tokens < 1:
            raise ValueError(f"max_target_tokens must be at least 1, not {self.max_target_tokens}")

    def normalisation(self, length: int) -> float:
        """What the log-probability of that many tokens is divided by."""
        if self.rule is None:
            return length_normalisation(length, self.length_penalty)
        return float(length**self.length_penalty)

    def token_limit(self, n_source: int, max_length: int) -> int:
        """The most target tokens for a source of `n_source` tokens (§6.1: input length + 50)."""
        limit = self.max_target_tokens
        if limit is None and self.rule:
            limit = self.rule.max_target_tokens
        return min(n_source + 50 if limit is None else limit, max_length)


@dataclass(frozen=True)
class Hypothesis:
    """One translation.

    ids        target tokens without the end-of-sentence token
    log_probs  natural log-probability of each token and, unless `capped`, of the end token
    score      sum of log_probs over the length normalisation: what the search ranked by
    capped     the token limit was reached before the end-of-sentence token
    """

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    score: float
    capped: bool


def length_normalisation(length: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6)^α of Wu et al. 2016; |Y| counts the end-of-sentence token."""
    return float(((5 + length) / 6) ** alpha)


def finished_hypothesis(
    ids: Sequence[int],
    log_probs: Sequence[float],
    eos_id: int,
    options: SearchOptions,
    limit: int | None = None,
) -> Hypothesis:
    """A hypothesis from one row, of which the first end-of-sentence token, if any, is the end.

    With `limit`, the row's own tokens are that many. An end that `options.rule` forces there is
    none of the model's, so the hypothesis is `capped`; the end still counts as length. (Where the
    limit is 1, it stays the only token, since a hypothesis without any has no probability.)
    """
    ids = ids[:limit]
    capped = eos_id not in ids
    length = n_scored = len(ids) if capped else ids.index(eos_id) + 1
    if options.rule and options.rule.force_end and not capped and 1 < length == limit:
        capped, n_scored = True, length - 1
    kept = tuple(log_probs[:n_scored])
    score = math.fsum(kept) / options.normalisation(length)
    return Hypothesis(tuple(ids[: n_scored if capped else n_scored - 1]), kept, score, capped)


def best_first(hypotheses: Sequence[Hypothesis], options: SearchOptions) -> list[Hypothesis]:
    """In the order of an answer: by score, those cut at the limit behind (attend's own rule).

    A search ranks in float32; the scores, summed anew in float64, may settle a tie the other way.
    """
    behind = options.rule is None
    return sorted(hypotheses, key=lambda one: (behind and one.capped, -one.score))
