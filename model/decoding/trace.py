"""The record of a search, step by step, for display. Imports no torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from model.decoding.hypothesis import Hypothesis

N_LIKELIEST = 5
"""Next tokens recorded for each beam, whether or not the search chooses them."""


class NextToken(NamedTuple):
    """A possible next token, and its natural log-probability."""

    token: int
    log_prob: float


@dataclass(frozen=True, slots=True)
class Beam:
    """A live hypothesis at the start of a step.

    parent     its index among the beams of the previous step; None at the first step
    token      its last token; None at the first step
    log_prob   of all its tokens
    likeliest  possible next tokens, most probable first
    """

    parent: int | None
    token: int | None
    log_prob: float
    likeliest: Sequence[NextToken]


@dataclass(frozen=True, slots=True)
class Ended:
    """A beam, by its index, that became a finished hypothesis among the best so far."""

    beam: int
    hypothesis: Hypothesis


@dataclass(frozen=True, slots=True)
class SearchStep:
    """The live beams, best first, and those that ended; the next step continues the others."""

    beams: Sequence[Beam]
    ended: Sequence[Ended]


@dataclass(frozen=True, slots=True)
class SearchTrace:
    """All steps, and the n best hypotheses that the search returned."""

    steps: Sequence[SearchStep]
    hypotheses: Sequence[Hypothesis]
