"""A search as it went, step by step, for people who want to see it. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from model.decoding.hypothesis import Hypothesis

N_LIKELIEST = 5
"""Next tokens that are shown of each beam, whatever the search made of them."""


class NextToken(NamedTuple):
    """A token that may come next, and its natural log-probability there."""

    token: int
    log_prob: float


@dataclass(frozen=True, slots=True)
class Beam:
    """A hypothesis that is alive when a step begins.

    parent     its place among the beams of the step before; None at the first step
    token      the last it has, None at the first step
    log_prob   of all its tokens
    likeliest  what may come next, most probable first
    """

    parent: int | None
    token: int | None
    log_prob: float
    likeliest: Sequence[NextToken]


@dataclass(frozen=True, slots=True)
class Ended:
    """A beam, by its place, that became a finished hypothesis in this step.

    Only those are told that were among the best so far.
    """

    beam: int
    hypothesis: Hypothesis


@dataclass(frozen=True, slots=True)
class SearchStep:
    """The beams alive, best first, and which of them ended; the others' heirs are in the next."""

    beams: Sequence[Beam]
    ended: Sequence[Ended]


@dataclass(frozen=True, slots=True)
class SearchTrace:
    """All steps, and the n best hypotheses that the search returned."""

    steps: Sequence[SearchStep]
    hypotheses: Sequence[Hypothesis]
