import pytest

from app.text.facts.quantities.number_words import says_number, spelt_out
from tests.cases import cases


@pytest.mark.parametrize(("text", "language", "values"), cases(__file__, "numbers_in_words"))
def test_numbers_in_words(text: str, language: str, values: list[int]) -> None:
    for _ in range(2):  # words are cached
        assert [one.value for one in spelt_out(text, language)] == values
    large = [value for value in values if value >= 2]
    assert says_number(text, language) == bool(large)
    assert says_number(text, language, is_small=True) == bool(values)


def test_parts_decades_and_percentages_are_numbers() -> None:
    assert says_number("in the sixties", "en")
    assert says_number("les deux tiers", "fr")
    assert says_number("one per cent", "en")
