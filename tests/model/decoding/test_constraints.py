import pytest

from model.decoding.constraints import (
    FIRST,
    GLUED,
    MAX_CONSTRAINTS,
    MAX_WIDTH,
    MAX_WORDINGS,
    USUAL_WIDTH,
    Constraint,
    Wording,
    fitting,
    n_banks,
    search_width,
)


def term(*ids: int) -> Constraint:
    return Constraint((Wording(ids),))


def test_a_term_reserves_the_tokens_of_its_shortest_unrestricted_wording() -> None:
    wordings = (Wording((1,), FIRST), Wording((1, 2, 3)), Wording((4, 5)), Wording((6,), GLUED))
    assert Constraint(wordings).n_tokens == 2


@pytest.mark.parametrize(
    "wordings",
    [(), (Wording((1,), FIRST),), (Wording((1,), GLUED),), (Wording((1,)),) * (MAX_WORDINGS + 1)],
)
def test_a_constraint_that_might_never_be_met_is_dropped(wordings: tuple[Wording, ...]) -> None:
    with pytest.raises(ValueError, match="wording"):
        Constraint(wordings)


def test_a_wording_has_a_token() -> None:
    with pytest.raises(ValueError, match="token"):
        Wording(())


def test_terms_fill_the_limit_with_equal_ones_adjacent() -> None:
    long, short, other = term(1, 2, 3), term(4), term(5, 6)
    assert fitting([long, short, long, other], 9) == (long, long, short, other)
    assert fitting([long, short, long, other], 8) == (long, long, short)
    assert fitting([long, short, long, other], 6) == (long, short, other)
    assert fitting([long, short, other], 3) == (long,)
    assert fitting([long], 2) == ()


def test_no_more_than_there_are_banks_for() -> None:
    many = [term(index) for index in range(40)]
    assert fitting(many, 1000) == tuple(many[:MAX_CONSTRAINTS])


@pytest.mark.parametrize("beam_size", [1, 2, 4, 8, 16, 32])
def test_there_is_a_hypothesis_for_each_bank(beam_size: int) -> None:
    assert search_width(beam_size, 0) == beam_size
    for n in range(MAX_CONSTRAINTS + 1):
        width = search_width(beam_size, n)
        assert max(beam_size, n_banks(n)) <= width <= MAX_WIDTH
        assert width <= max(USUAL_WIDTH, beam_size, n_banks(n))
    assert search_width(1, 1) == 3
    assert search_width(4, 1) == 9
