"""Searches for the head and method that align best, on manually aligned pairs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from model.alignment.from_attention import (
    AlignmentMethod,
    Link,
    Position,
    Symmetrisation,
    WordWeights,
    links,
)
from model.alignment.gold import AlignmentScores, GoldAlignment, score_alignments

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
