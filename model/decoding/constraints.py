"""Terms that a translation must contain, as constraints of a search; no tensors.

A hypothesis that starts a term must complete it, and may end only when it contains all terms.
`model.decoding.constrained` is the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_WIDTH = 32
"""Maximum hypotheses of a constrained search."""

MAX_CONSTRAINTS = (MAX_WIDTH - 1) // 2
"""Per sentence, so that each bank has a hypothesis; see `n_banks`."""

USUAL_WIDTH = 16
"""Above this width, each bank has only one hypothesis."""

MAX_WORDINGS = 4
"""Per constraint."""


ANYWHERE, GLUED, FIRST = range(3)


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to write a term in tokens.

    where   `ANYWHERE`: it begins with a space, or needs none; `GLUED`: not after a letter or digit,
            since it begins without a space; `FIRST`: only at the start of the translation
    closed  no letter or digit may follow
    """

    ids: tuple[int, ...]
    where: int = ANYWHERE
    closed: bool = True

    def __post_init__(self) -> None:
        if not self.ids:
            raise ValueError("a wording needs a token")


@dataclass(frozen=True, slots=True)
class Constraint:
    """A term that must occur once, in one of its wordings; at least one is allowed anywhere.

    Two equal constraints require two occurrences. Raises `ValueError`.
    """

    wordings: tuple[Wording, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.wordings) <= MAX_WORDINGS:
            raise ValueError(f"{len(self.wordings)} wordings: 1 … {MAX_WORDINGS}")
        if all(wording.where != ANYWHERE for wording in self.wordings):
            raise ValueError("no wording is allowed anywhere")

    @property
    def n_tokens(self) -> int:
        """Tokens of the longest wording that is allowed anywhere."""
        return min(len(one.ids) for one in self.wordings if one.where == ANYWHERE)


@dataclass(frozen=True)
class PieceEdges:
    """Which tokens of a vocabulary [V] begin or end with a letter or digit, to find word ends.

    before  the token begins with one: after a word, it would extend it
    behind  the token ends with one
    """

    before: NDArray[np.bool_]
    behind: NDArray[np.bool_]

    @classmethod
    def none(cls, vocab_size: int) -> PieceEdges:
        """Return edges for a vocabulary without words."""
        nowhere = np.zeros(vocab_size, np.bool_)
        return cls(nowhere, nowhere)


def fitting(constraints: Sequence[Constraint], limit: int) -> tuple[Constraint, ...]:
    """Return the first constraints that fit into `limit` tokens.

    Equal ones are adjacent. At most `MAX_CONSTRAINTS`.
    """
    chosen: list[Constraint] = []
    left = limit
    for constraint in constraints[:MAX_CONSTRAINTS]:
        if constraint.n_tokens <= left:
            left -= constraint.n_tokens
            chosen.append(constraint)
    return tuple(one for kind in dict.fromkeys(chosen) for one in [kind] * chosen.count(kind))


def n_banks(n_constraints: int) -> int:
    """Return the banks: one for each number of completed terms, and one between each two."""
    return 2 * n_constraints + 1


def search_width(beam_size: int, n_constraints: int) -> int:
    """Hypotheses to keep: about a beam per number of completed terms, up to `USUAL_WIDTH`."""
    usual = min(USUAL_WIDTH, beam_size * (1 + n_constraints) + n_constraints)
    return max(beam_size, n_banks(n_constraints), usual)
