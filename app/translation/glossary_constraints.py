"""The terms of a sentence as constraints of a search, by the vocabulary of a model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from app.text.glossary import Term
from model.decoding.constraints import Constraint
from model.decoding.term_constraints import constraint_of, piece_edges
from model.text.text_codec import TextCodec

N_REMEMBERED = 4096
"""Terms whose tokens are kept: a glossary's come again with every sentence."""


class TermSpeller:
    """Spells terms in a model's tokens."""

    def __init__(self, codec: TextCodec) -> None:
        edges = piece_edges(codec)

        @lru_cache(N_REMEMBERED)
        def spell(target: str, may_be_capital: bool) -> Constraint | None:
            return constraint_of(codec, edges, target, may_be_capital=may_be_capital)

        self._spell = spell

    def constraints(self, terms: Sequence[Term]) -> tuple[Constraint, ...]:
        """One for each term, but for those that the vocabulary cannot spell."""
        found = (self._spell(term.target, term.may_be_capital) for term in terms)
        return tuple(constraint for constraint in found if constraint)
