"""Manual alignments, and scores of others against them: Och & Ney 2003, §5."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from model.alignment.from_attention import Link

_GOLD_LINK = re.compile(r"([0-9]+)([-p])([0-9]+)")


@dataclass(frozen=True, slots=True)
class GoldAlignment:
    """Links of a sentence pair: `sure` ones, and the `possible` ones, which include the sure."""

    sure: frozenset[Link]
    possible: frozenset[Link]

    @classmethod
    def parse(cls, line: str) -> GoldAlignment:
        """`0-0 1p2`: `-` is sure, `p` possible; source word, target word, from 0.

        Raises `ValueError` naming the invalid link.
        """
        sure, possible = set(), set()
        for written in line.split():
            match = _GOLD_LINK.fullmatch(written)
            if match is None:
                raise ValueError(f"{written!r} is not a link such as 0-0 or 1p2")
            link = int(match[1]), int(match[3])
            possible.add(link)
            if match[2] == "-":
                sure.add(link)
        return cls(frozenset(sure), frozenset(possible))

    def transposed(self) -> GoldAlignment:
        """Exchange source and target."""
        sure, possible = (frozenset((j, i) for i, j in side) for side in (self.sure, self.possible))
        return GoldAlignment(sure, possible)


@dataclass(frozen=True, slots=True)
class AlignmentScores:
    """Scores of links A over all pairs, with sure links S and possible links P.

    aer        alignment error rate, 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
    precision  |A ∩ P| / |A|
    recall     |A ∩ S| / |S|
    """

    aer: float
    precision: float
    recall: float


def score_alignments(
    alignments: Sequence[Iterable[Link]], gold: Sequence[GoldAlignment]
) -> AlignmentScores:
    """Score all pairs together; 0 / 0 counts as a perfect score."""
    n_links = n_sure = sure_hits = possible_hits = 0
    for alignment, expected in zip(alignments, gold, strict=True):
        found = frozenset(alignment)
        n_links += len(found)
        n_sure += len(expected.sure)
        sure_hits += len(found & expected.sure)
        possible_hits += len(found & expected.possible)
    both = n_links + n_sure
    return AlignmentScores(
        aer=1 - (sure_hits + possible_hits) / both if both else 0.0,
        precision=possible_hits / n_links if n_links else 1.0,
        recall=sure_hits / n_sure if n_sure else 1.0,
    )
