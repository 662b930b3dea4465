import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.checkpoint.config import AnyPair

LANGUAGES = st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=6, unique=True)


def test_three_languages_by_hand() -> None:
    assert list(AnyPair(("a", "b", "c"))) == [
        ("a", "b"), ("a", "c"), ("b", "a"), ("b", "c"), ("c", "a"), ("c", "b"),
    ]  # fmt: skip


@given(LANGUAGES)
def test_it_is_the_sequence_of_all_pairs(languages: list[str]) -> None:
    pairs, expected = AnyPair(tuple(languages)), list(itertools.permutations(languages, 2))
    assert list(pairs) == expected
    assert len(pairs) == len(expected)
    assert pairs[1:-1:2] == expected[1:-1:2]
    assert pairs[-1] == expected[-1]
    with pytest.raises(IndexError):
        pairs[len(expected)]
    assert all(pair in pairs for pair in expected)


@pytest.mark.parametrize(
    "other", [("a", "a"), ("a", "z"), ("z", "a"), ("a",), ("a", "b", "c"), "ab", 3, None]
)
def test_it_contains_nothing_else(other: object) -> None:
    assert other not in AnyPair(("a", "b"))


@pytest.mark.parametrize(
    ("languages", "named"),
    [((), "two languages"), (("a",), "two languages"), (("a", "b", "a"), "a language twice")],
)
def test_invalid_choices_of_languages(languages: tuple[str, ...], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        AnyPair(languages)
