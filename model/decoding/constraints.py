"""Terms that a translation has to contain: what a constrained search is asked; no tensors.

A term is begun as a whole: a hypothesis that takes its first token is bound to go on with the
rest, and may end only when all terms are said. `model.decoding.constrained` is the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_WIDTH = 32
"""Hypotheses that a constrained search keeps at most."""

MAX_CONSTRAINTS = (MAX_WIDTH - 1) // 2
"""Of one sentence: so there is a hypothesis for each bank, see `n_banks`."""

USUAL_WIDTH = 16
"""Hypotheses beyond which there are no more than one for each bank."""

MAX_WORDINGS = 4
"""Of one constraint."""


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to write a term in tokens.

    where  anywhere: it begins with a space, or needs none; glued: where no letter or digit is
           before, since it begins without; first: at the very beginning of the translation
    closed a letter or digit may not follow
    """

    ids: tuple[int, ...]
    where: int = 0
    closed: bool = True

    def __post_init__(self) -> None:
        if not self.ids:
            raise ValueError("a wording needs a token")


ANYWHERE, GLUED, FIRST = range(3)
"""Values of `Wording.where`."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A term that is to be said once, in one of its wordings; one of them goes anywhere.

    Two that are equal ask for it twice. Raises `ValueError`.
    """

    wordings: tuple[Wording, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.wordings) <= MAX_WORDINGS:
            raise ValueError(f"{len(self.wordings)} wordings: 1 … {MAX_WORDINGS}")
        if all(wording.where != ANYWHERE for wording in self.wordings):
            raise ValueError("no wording goes anywhere")

    @property
    def n_tokens(self) -> int:
        """That it takes at most where nothing favours another wording."""
        return min(len(one.ids) for one in self.wordings if one.where == ANYWHERE)


@dataclass(frozen=True)
class PieceEdges:
    """Which tokens of a vocabulary [V] have a letter or digit at an end, for the ends of words.

    before  the token begins with one: put behind a word, it would make that longer
    behind  the token ends with one
    """

    before: NDArray[np.bool_]
    behind: NDArray[np.bool_]

    @classmethod
    def none(cls, vocab_size: int) -> PieceEdges:
        """Of a vocabulary without words."""
        nowhere = np.zeros(vocab_size, np.bool_)
        return cls(nowhere, nowhere)


def fitting(constraints: Sequence[Constraint], limit: int) -> tuple[Constraint, ...]:
    """The first of the constraints, as many as `limit` tokens hold.

    Equal ones come next to each other. No more than `MAX_CONSTRAINTS`.
    """
    chosen: list[Constraint] = []
    left = limit
    for constraint in constraints[:MAX_CONSTRAINTS]:
        if constraint.n_tokens <= left:
            left -= constraint.n_tokens
            chosen.append(constraint)
    return tuple(one for kind in dict.fromkeys(chosen) for one in [kind] * chosen.count(kind))


def n_banks(n_constraints: int) -> int:
    """One for each number of terms said, and between two one for those in the middle of a term."""
    return 2 * n_constraints + 1


def search_width(beam_size: int, n_constraints: int) -> int:
    """Hypotheses to keep: about a beam for each number of terms said, up to `USUAL_WIDTH`."""
    wanted = beam_size * (1 + n_constraints) + n_constraints
    return max(beam_size, n_banks(n_constraints), min(USUAL_WIDTH, wanted))
