"""Converts glossary terms to constraints of a search, with a model's vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from app.text.glossary import Term
from model.decoding.constraints import Constraint
from model.decoding.term_constraints import constraint_of, piece_edges
from model.text.text_codec import TextCodec

N_REMEMBERED = 4096
"""Size of the cache of spelt terms, since a glossary's recur with every sentence."""


class TermSpeller:
    """Spells terms in a model's tokens."""

    def __init__(self, codec: TextCodec) -> None:
        edges = piece_edges(codec)

        @lru_cache(N_REMEMBERED)
        def spell(target: str, may_be_capital: bool) -> Constraint | None:
            return constraint_of(codec, edges, target, may_be_capital=may_be_capital)

        self._spell = spell

    def constraints(self, terms: Sequence[Term]) -> tuple[Constraint, ...]:
        """Return a constraint per term, except those that the vocabulary cannot spell."""
        found = (self._spell(term.target, term.may_be_capital) for term in terms)
        return tuple(constraint for constraint in found if constraint)
