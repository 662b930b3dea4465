"""What an engine shows of one sentence beside its translation: attention, scores, the search.

Imports no torch, as `protocol`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from model.decoding.hypothesis import SearchOptions
from model.decoding.trace import SearchTrace

IdPair: TypeAlias = tuple[Sequence[int], Sequence[int]]
"""Source ids, and target ids with the end of the sentence."""

AttentionKind = Literal["encoder", "decoder", "cross"]


class AttentionRow(NamedTuple):
    """Row `row` of the attention of one kind and layer, in every head."""

    kind: AttentionKind
    layer: int
    row: int


@dataclass(frozen=True)
class Projections:
    """The vectors of one attention for one of its rows, in every head; `query` has only that row.

    query   [H, 1, Dh]
    keys    [H, S, Dh]
    values  [H, S, Dh]
    weights [H, S], softmax(q Kᵀ / √Dh) at visible positions, else 0
    seen    [S], False at positions that the mask hides: later ones
    """

    query: NDArray[np.float32]
    keys: NDArray[np.float32]
    values: NDArray[np.float32]
    weights: NDArray[np.float32]
    seen: NDArray[np.bool_]


class Explanations(Protocol):
    """Explains single sentences. The jobs admitted to the engine are not affected."""

    def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> NDArray[np.float32]:
        """Attention weights [layers, heads, T, S] of one teacher-forced pass over a given pair.

        `target_ids` are the T tokens produced, the end-of-sentence token included; row t is what
        position t attended to when it produced target token t. T = S for `encoder`, S = T for
        `decoder`, where column s is the position that was fed token s − 1.
        """

    def score(self, pairs: Sequence[IdPair], options: SearchOptions) -> list[NDArray[np.float32]]:
        """Log-probabilities [T] of given targets' tokens, by one teacher-forced pass.

        They are those that a search with these options would assign; `<pad>` gets −∞. Other tokens
        that the search never chooses keep theirs, and no end is forced.
        """

    def project(
        self, source_ids: Sequence[int], target_ids: Sequence[int], at: AttentionRow
    ) -> Projections:
        """What one attention computes with for one row, as in `explain`.

        S is the number of columns that `explain` has.
        """

    def trace(self, source_ids: Sequence[int], options: SearchOptions) -> SearchTrace:
        """Return the search of one sentence, step by step.

        Its hypotheses are those of a job with these options. Raises
        `NumericalError` where such a job would fail with it.
        """


class DelegatedExplanations:
    """Delegates to another engine of the same model."""

    def __init__(self, explaining: Explanations) -> None:
        self._explaining = explaining

    def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> NDArray[np.float32]:
        """Attention weights [layers, heads, T, S]; see `Explanations.explain`."""
        return self._explaining.explain(source_ids, target_ids, kind)

    def score(self, pairs: Sequence[IdPair], options: SearchOptions) -> list[NDArray[np.float32]]:
        """Log-probabilities [T] of given targets' tokens; see `Explanations.score`."""
        return self._explaining.score(pairs, options)

    def project(
        self, source_ids: Sequence[int], target_ids: Sequence[int], at: AttentionRow
    ) -> Projections:
        """What one attention computes with; see `Explanations.project`."""
        return self._explaining.project(source_ids, target_ids, at)

    def trace(self, source_ids: Sequence[int], options: SearchOptions) -> SearchTrace:
        """The search of one sentence; see `Explanations.trace`."""
        return self._explaining.trace(source_ids, options)
