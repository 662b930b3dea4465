import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.alignment.from_attention import Link
from model.alignment.gold import AlignmentScores, GoldAlignment, score_alignments

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
def test_what_is_not_a_link_is_named(line: str) -> None:
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


def test_nothing_to_find_and_nothing_found_is_without_fault() -> None:
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
