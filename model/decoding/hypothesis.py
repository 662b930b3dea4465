"""Options, limits and outcomes of a search, the same for all engines; no tensors."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from model.decoding.constraints import Constraint, fitting, search_width
from model.decoding.processors import MAX_TEMPERATURE, NO_PROCESSORS, LogitsProcessors
from model.decoding.rules import Rule, Traits, length_normalisation, traits_of
from model.decoding.shortlist import Shortlist
from model.errors import NumericalError

MAX_LENGTH_PENALTY = 10.0
"""Far beyond useful values (0 … 1); more would overflow float32 at the longest lengths."""


class SearchLimits(NamedTuple):
    """The limits of one sentence's search.

    n_tokens     maximum target tokens
    constraints  those that fit into the token limit
    width        hypotheses to keep
    """

    n_tokens: int
    constraints: tuple[Constraint, ...]
    width: int


@dataclass(frozen=True)
class SearchOptions:
    """How to search; the defaults are the paper's (§6.1). Raises `ValueError`.

    beam_size          K; 1 is greedy search
    n_best             hypotheses to return, 1 … beam_size
    length_penalty     α of Wu et al. 2016, equation 14, at most 10; 0 ranks by log-probability
    max_target_tokens  limit, counting the end-of-sentence token, but not `first_id`; None is source
                       tokens + 50
    rule               None is attend's own, see `model.decoding.beam`
    constraints        terms that the translation must contain, most important first
    first_id           the given first token of every translation, at no cost, such as the target
                       language's; None: the model chooses
    shortlist          restricts each sentence to its candidates; None is the whole vocabulary
    processors         what hypotheses must not have
    temperature        above 0, each token of a greedy search is drawn from the most probable ones,
                       with probabilities p^(1 / temperature)
    seed               determines what is drawn, with the sentence and the position
    """

    beam_size: int = 4
    n_best: int = 1
    length_penalty: float = 0.6
    max_target_tokens: int | None = None
    rule: Rule | None = None
    constraints: tuple[Constraint, ...] = ()
    first_id: int | None = None
    shortlist: Shortlist | None = None
    processors: LogitsProcessors = NO_PROCESSORS
    temperature: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise ValueError(f"beam_size must be at least 1, not {self.beam_size}")
        if not 1 <= self.n_best <= self.beam_size:
            raise ValueError(f"n_best must be 1 … beam_size, not {self.n_best}")
        if not 0 <= self.length_penalty <= MAX_LENGTH_PENALTY:  # also rejects NaN
            raise ValueError(
                f"length_penalty must be 0 … {MAX_LENGTH_PENALTY:g}, not {self.length_penalty}"
            )
        if self.max_target_tokens is not None and self.max_target_tokens < 1:
            raise ValueError(f"max_target_tokens must be at least 1, not {self.max_target_tokens}")
        if self.first_id is not None and self.first_id < 0:
            raise ValueError(f"first_id must be at least 0, not {self.first_id}")
        if not 0 <= self.temperature <= MAX_TEMPERATURE:
            raise ValueError(f"temperature must be 0 … {MAX_TEMPERATURE:g}, not {self.temperature}")
        if self.temperature and self.beam_size > 1:
            raise ValueError("temperature needs a beam_size of 1")
        if self.seed < 0:
            raise ValueError(f"seed must be at least 0, not {self.seed}")

    @property
    def n_given(self) -> int:
        """Number of tokens at the start that are given, not chosen."""
        return 0 if self.first_id is None else 1

    @property
    def traits(self) -> Traits:
        return traits_of(self.rule)

    @property
    def processes_logits(self) -> bool:
        """Whether processors change logits, not log-probabilities; see `Traits.processors`."""
        traits = self.traits
        return traits.processors == "ctranslate2" or traits.renormalises or self.beam_size == 1

    def draws(self, source_ids: Sequence[int], n: int) -> NDArray[np.float64]:
        """Return the random numbers, 0 … 1, of the first n positions of a sentence.

        They depend on the seed and the sentence alone, so neither on the batch nor on the load.
        """
        source = np.random.SeedSequence([self.seed, *source_ids])
        return np.random.Generator(np.random.Philox(source)).random(n)

    def normalisation(self, length: int) -> float:
        """Return the divisor of the log-probability of `length` tokens."""
        return length_normalisation(length, self.length_penalty, self.traits.length_offset)

    def limits(self, n_source: int, max_length: int) -> SearchLimits:
        """Return the limits for `n_source` source tokens and a model of `max_length` positions."""
        if self.max_target_tokens is not None:
            limit = self.max_target_tokens + self.n_given
        else:
            of_rule = self.rule.token_limit(n_source) if self.rule else None
            limit = max(n_source + 50 if of_rule is None else of_rule, 1 + self.n_given)
        limit = min(limit, max_length)
        # A given first token and a forced end take one token each from the constraints.
        constraints = fitting(self.constraints, limit - self.n_given - self.traits.forces_end)
        return SearchLimits(limit, constraints, search_width(self.beam_size, len(constraints)))


@dataclass(frozen=True)
class Hypothesis:
    """One translation.

    ids        target tokens without the end-of-sentence token
    log_probs  natural log-probability of each token and, unless `capped`, of the end token
    score      sum of log_probs over the length normalisation, by which the search ranks
    capped     the token limit was reached before the end-of-sentence token
    """

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    score: float
    capped: bool


Outcome: TypeAlias = list[Hypothesis] | Exception
"""The result of a search: its n best hypotheses, best first, or its error."""


def outcome(hypotheses: list[Hypothesis]) -> list[Hypothesis] | NumericalError:
    """Return the hypotheses of a search, or its error if there are none with a finite score."""
    if hypotheses and all(math.isfinite(one.score) for one in hypotheses):
        return hypotheses
    return NumericalError("the model's output is not finite for this input")


def outcome_of_rows(
    rows: Iterable[tuple[Sequence[int], Sequence[float]]],
    eos_id: int,
    options: SearchOptions,
    limit: int,
) -> list[Hypothesis] | NumericalError:
    """Return the outcome of a search from the ids and log-probabilities of its n best rows."""
    found = [finished_hypothesis(*row, eos_id, options, limit) for row in rows]
    return outcome(best_first(found, options))


def finished_hypothesis(
    ids: Sequence[int],
    log_probs: Sequence[float],
    eos_id: int,
    options: SearchOptions,
    limit: int | None = None,
) -> Hypothesis:
    """Return a hypothesis from one row, up to its first end-of-sentence token, if any.

    At most `limit` tokens belong to the row. An end that the rule forces there is not the model's,
    so the hypothesis is `capped`; the end still counts as length. (If the limit is 1, it stays the
    only token, since a hypothesis without any has no probability.)
    """
    ids = ids[:limit]
    capped = eos_id not in ids
    length = n_scored = len(ids) if capped else ids.index(eos_id) + 1
    if options.traits.forces_end and not capped and 1 < length == limit:
        capped, n_scored = True, length - 1
    kept = tuple(log_probs[:n_scored])
    score = math.fsum(kept) / options.normalisation(length)
    return Hypothesis(tuple(ids[: n_scored if capped else n_scored - 1]), kept, score, capped)


def best_first(hypotheses: Sequence[Hypothesis], options: SearchOptions) -> list[Hypothesis]:
    """Sort by score; capped hypotheses come last if the rule says so.

    A search ranks in float32; the scores, recomputed in float64, may resolve ties differently.
    """
    behind = options.traits.at_limit == "behind"
    return sorted(hypotheses, key=lambda one: (behind and one.capped, -one.score))
