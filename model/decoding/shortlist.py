"""The shortlist of a model: per source token, the target tokens that may translate it.

A search that has one chooses only among the candidates of its sentence, so that the output layer
computes a few hundred logits and not tens of thousands; the probabilities are over the candidates.
Marian calls it a lexical shortlist (Senellart et al. 2018, §4.4). There the candidates are those of
a batch; here, as in Firefox, those of a sentence, so that an answer does not depend on others.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.decoding.constraints import Constraint

_MULTIPLE = 8
"""Marian adds the next ids up to a multiple of this, as its products need."""


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The candidates of every source token.

    n_first         the target ids 0 … n_first − 1 are candidates of every sentence
    offsets         [source vocabulary + 1]: the candidates of token s are
                    ids[offsets[s] : offsets[s + 1]]
    ids             target ids
    target_size     the target vocabulary's size, without a symbol for padding
    is_shared       whether both languages have one vocabulary: source tokens are candidates, too
    """

    n_first: int
    offsets: NDArray[np.uint64]
    ids: NDArray[np.uint32]
    target_size: int
    is_shared: bool

    def candidates(
        self, source_ids: Sequence[int], constraints: Iterable[Constraint] = ()
    ) -> NDArray[np.int64]:
        """Return the candidates of a sentence and the tokens of its constraints, ascending."""
        known = np.array([one for one in source_ids if one < len(self.offsets) - 1], np.int64)
        starts, ends = self.offsets[known].tolist(), self.offsets[known + 1].tolist()
        lists = [self.ids[start:end] for start, end in zip(starts, ends, strict=True)]
        chosen = np.zeros(self.target_size, np.bool_)
        chosen[: self.n_first] = True
        chosen[np.concatenate([known[:0], *lists])] = True
        if self.is_shared:
            chosen[known] = True
        n_chosen = int(np.count_nonzero(chosen))
        others = ~chosen[self.n_first : n_chosen + _MULTIPLE]
        chosen[self.n_first + np.flatnonzero(others)[: -n_chosen % _MULTIPLE]] = True
        for constraint in constraints:
            for wording in constraint.wordings:
                chosen[list(wording.ids)] = True
        return np.flatnonzero(chosen)
