"""Manual alignments, scores against them (Och & Ney 2003, §5), and the method that scores best."""

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self, get_args

from model.alignment.from_attention import (
    AlignmentMethod,
    Link,
    Position,
    Symmetrisation,
    WordWeights,
    links,
)

_GOLD_LINK = re.compile(r"([0-9]+)([-p])([0-9]+)")


@dataclass(frozen=True, slots=True)
class GoldAlignment:
    """Links of a sentence pair: `sure` ones, and the `possible` ones, which include the sure."""

    sure: frozenset[Link]
    possible: frozenset[Link]

    @classmethod
    def parse(cls, line: str) -> Self:
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

    def transposed(self) -> Self:
        sure, possible = (frozenset((j, i) for i, j in side) for side in (self.sure, self.possible))
        return type(self)(sure, possible)


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


THRESHOLDS = tuple(step / 20 for step in range(11))
N_FOLDS = 2


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """A pair with its word weights by pass and its gold links.

    text  identifies duplicate pairs
    """

    text: Hashable
    by_pass: Sequence[WordWeights]
    gold: GoldAlignment


@dataclass(frozen=True, slots=True)
class Trial:
    """A method and its scores."""

    method: AlignmentMethod
    scores: AlignmentScores


def evaluate_method(pairs: Sequence[AlignedPair], method: AlignmentMethod) -> AlignmentScores:
    """Score the method's alignments against the gold ones."""
    return _score([links(pair.by_pass, method) for pair in pairs], pairs)


def try_heads(pairs: Sequence[AlignedPair]) -> list[Trial]:
    """Try each head and each layer's mean, at both positions, by argmax; the best first."""
    n_layers, n_heads = pairs[0].by_pass[0].producing.shape[:2]
    return _trials(
        pairs,
        (
            AlignmentMethod(layer=layer, head=head, position=position)
            for layer in range(n_layers)
            for head in (None, *range(n_heads))
            for position in get_args(Position)
        ),
    )


def try_readings(
    pairs: Sequence[AlignedPair], method: AlignmentMethod, *, can_reverse: bool
) -> list[Trial]:
    """Try each way of reading the method's head, at its best threshold; the best first."""
    best: list[Trial] = []
    for both_directions in (False, True)[: 1 + can_reverse]:
        for symmetrisation in get_args(Symmetrisation):
            changes = {"both_directions": both_directions, "symmetrisation": symmetrisation}
            trials = _trials(
                pairs,
                (
                    method.model_copy(update=changes | {"threshold": threshold})
                    for threshold in THRESHOLDS
                ),
            )
            best.append(trials[0])
    return sorted(best, key=_error)


def best_method(pairs: Sequence[AlignedPair], *, can_reverse: bool) -> AlignmentMethod:
    """Return the method of least AER: first choose the head, then the rest."""
    head = try_heads(pairs)[0].method
    return try_readings(pairs, head, can_reverse=can_reverse)[0].method


def cross_validate(pairs: Sequence[AlignedPair], *, can_reverse: bool) -> AlignmentScores | None:
    """Score `best_method` on unseen pairs: each half with the method tuned on the other.

    Pairs of the same text are in the same half. None if there are too few for two halves.
    """
    numbers: dict[Hashable, int] = {}
    folds: list[list[AlignedPair]] = [[] for _ in range(N_FOLDS)]
    for pair in pairs:
        folds[numbers.setdefault(pair.text, len(numbers)) % N_FOLDS].append(pair)
    if not all(folds):
        return None
    alignments: list[list[Link]] = []
    for fold in folds:
        others = [pair for other in folds if other is not fold for pair in other]
        method = best_method(others, can_reverse=can_reverse)
        alignments += [links(pair.by_pass, method) for pair in fold]
    return _score(alignments, [pair for fold in folds for pair in fold])


def _trials(pairs: Sequence[AlignedPair], methods: Iterable[AlignmentMethod]) -> list[Trial]:
    trials = [Trial(method, evaluate_method(pairs, method)) for method in methods]
    return sorted(trials, key=_error)


def _score(alignments: Sequence[Iterable[Link]], pairs: Sequence[AlignedPair]) -> AlignmentScores:
    return score_alignments(alignments, [pair.gold for pair in pairs])


def _error(trial: Trial) -> float:
    return trial.scores.aer
