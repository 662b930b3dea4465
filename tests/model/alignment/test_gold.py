import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.alignment.from_attention import AlignmentMethod, Link, WordWeights
from model.alignment.gold import (
    AlignedPair,
    AlignmentScores,
    GoldAlignment,
    best_method,
    cross_validate,
    evaluate_method,
    score_alignments,
    try_heads,
    try_readings,
)

LINKS = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)))


def test_gold_links_by_hand() -> None:
    gold = GoldAlignment.parse(" 0-0 1p2\t10-3\n")
    assert gold.sure == {(0, 0), (10, 3)}
    assert gold.possible == {(0, 0), (10, 3), (1, 2)}
    assert gold.transposed() == GoldAlignment.parse("0-0 2p1 3-10")
    assert GoldAlignment.parse("") == GoldAlignment(frozenset(), frozenset())


@pytest.mark.parametrize(
    "line", ["0", "0-", "a-b", "0-0,1-1", "-1-2", "1--2", "0q0", "0-0p1", "٣-1"]
)
def test_invalid_links_are_named(line: str) -> None:
    with pytest.raises(ValueError, match="is not a link such as 0-0 or 1p2") as caught:
        GoldAlignment.parse(f"0-0 {line}")
    assert repr(line) in str(caught.value)


def test_scores_by_hand() -> None:
    """Two pairs: |A| = 4, |S| = 3, A ∩ S = {(0, 0), (0, 0)}, A ∩ P has (1, 1) too."""
    gold = [GoldAlignment.parse("0-0 1p1 2-2"), GoldAlignment.parse("0-0")]
    scores = score_alignments([[(0, 0), (1, 1), (3, 3)], [(0, 0)]], gold)
    assert scores.aer == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert scores.precision == pytest.approx(3 / 4)
    assert scores.recall == pytest.approx(2 / 3)


def test_scores_of_empty_alignments() -> None:
    assert score_alignments([[]], [GoldAlignment.parse("")]) == AlignmentScores(0.0, 1.0, 1.0)
    assert score_alignments([[]], [GoldAlignment.parse("0-0")]) == AlignmentScores(1.0, 1.0, 0.0)
    assert score_alignments([[(0, 0)]], [GoldAlignment.parse("")]).aer == 1


@given(LINKS, LINKS)
def test_no_error_between_sure_and_possible_links(
    some: frozenset[Link], more: frozenset[Link]
) -> None:
    gold = [GoldAlignment(some, some | more)]
    for alignment in (some, some | more):
        assert score_alignments([alignment], gold).aer == 0
    assert 0 <= score_alignments([more], gold).aer <= 1


LAYERS, HEADS = 3, 2


def pair(number: int, *, good: tuple[int, int] = (1, 0), text: str | None = None) -> AlignedPair:
    """Three words a side, in the same order; one head has the links, when the token is read."""
    noise = np.random.default_rng(number)
    found = [noise.random((LAYERS, HEADS, 3, 3), dtype=np.float32) * 2 for _ in range(2)]
    found[1][good] = np.eye(3, dtype=np.float32)
    weights = WordWeights(*found)
    return AlignedPair(text or number, [weights, weights], GoldAlignment.parse("0-0 1-1 2-2"))


PAIRS = [pair(number) for number in range(12)]


def test_the_head_that_aligns_is_found() -> None:
    trials = try_heads(PAIRS)
    assert len(trials) == LAYERS * (HEADS + 1) * 2
    assert trials[0].method == AlignmentMethod(layer=1, head=0, position="reading")
    assert trials[0].scores.aer == 0
    errors = [trial.scores.aer for trial in trials]
    assert errors == sorted(errors)
    assert errors[1] > 0


def test_every_way_of_reading_is_tried_at_its_best_threshold() -> None:
    noisy = AlignmentMethod(layer=0, head=1)
    trials = try_readings(PAIRS, noisy, can_reverse=True)
    ways = {(trial.method.both_directions, trial.method.symmetrisation) for trial in trials}
    assert len(trials) == len(ways) == 6
    for trial in trials:
        assert (trial.method.layer, trial.method.head) == (0, 1)
        untouched = trial.method.model_copy(update={"threshold": 0.0})
        assert trial.scores.aer <= evaluate_method(PAIRS, untouched).aer
        assert trial.scores == evaluate_method(PAIRS, trial.method)


def test_a_model_of_one_direction_is_not_evaluated_in_the_other() -> None:
    trials = try_readings(PAIRS, AlignmentMethod(), can_reverse=False)
    assert len(trials) == 3
    assert not any(trial.method.both_directions for trial in trials)


def test_the_best_method_is_the_best_that_was_tried() -> None:
    best = best_method(PAIRS, can_reverse=True)
    assert evaluate_method(PAIRS, best).aer == 0
    assert (best.layer, best.head, best.position) == (1, 0, "reading")


def test_cross_validation_scores_what_the_method_has_not_seen() -> None:
    """Each half is aligned by another head."""
    halves = [pair(number, good=((0, 0), (2, 1))[number % 2]) for number in range(12)]
    honest = cross_validate(halves, can_reverse=False)
    assert honest is not None
    for half, head in ((halves[::2], 0), (halves[1::2], 1)):
        tuned = best_method(half, can_reverse=False)
        assert evaluate_method(half, tuned).aer == 0
        assert tuned.head == head
    assert honest.aer > 0.2
    alike = cross_validate(PAIRS, can_reverse=False)
    assert alike is not None
    assert alike.aer == 0


def test_the_same_text_never_is_on_both_sides() -> None:
    assert cross_validate([pair(0, text="hear , hear"), pair(1, text="hear , hear")],
                          can_reverse=False) is None  # fmt: skip
    assert cross_validate([pair(0)], can_reverse=False) is None
