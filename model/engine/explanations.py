"""Explanations of single sentences by engines: attention, scores, the search.

Imports no torch, as `protocol`.
"""

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


StackName = Literal["encoder", "decoder"]


class LayerRow(NamedTuple):
    """Position `row` of a stack, in layer `layer`."""

    stack: StackName
    layer: int
    row: int


class Activation(NamedTuple):
    """A vector [N] that a position has on its way through a model.

    sublayer  embedding, self_attention, ssru, cross_attention, feed_forward, stack, output
    name      of an embedding: token, position, and the sum after scaling (§3.4, §3.5); of an
              attention: query, key, value, and context, the heads concatenated (§3.2.2); of an
              SSRU: candidate, forget, cell; of the feed-forward network: hidden (§3.3); of every
              sub-layer: output, residual, the sum with its input, and norm, before or after it
              (§3.1); of a stack: input of the layer, norm after the last; of the output: logits [V]
    """

    sublayer: str
    name: str
    vector: NDArray[np.float32]


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

        `target_ids` are the T tokens produced, including the end of sentence; row t is what
        position t attended to when it produced target token t. T = S for `encoder`, S = T for
        `decoder`, where column s is the position that was fed token s − 1.
        """

    def score(self, pairs: Sequence[IdPair], options: SearchOptions) -> list[NDArray[np.float32]]:
        """Log-probabilities [T] of given targets' tokens, by one teacher-forced pass.

        They are those that a search with these options would assign, but tokens that the search
        never chooses keep theirs, and no end is forced; `<pad>` gets −∞.
        """

    def project(
        self, source_ids: Sequence[int], target_ids: Sequence[int], at: AttentionRow
    ) -> Projections:
        """The vectors of one row of an attention; S is the number of columns of `explain`."""

    def activations(
        self, source_ids: Sequence[int], target_ids: Sequence[int], at: LayerRow
    ) -> list[Activation]:
        """The vectors of one position in the order of their computation: in its embedding, in one
        layer, and, of the whole stack, its norm and the logits, over the whole vocabulary."""

    def trace(self, source_ids: Sequence[int], options: SearchOptions) -> SearchTrace:
        """The search of one sentence, step by step, with the same result as a job.

        Raises `NumericalError` where such a job would fail with it.
        """
