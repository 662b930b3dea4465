import pytest

from app.text.facts.number_words import says_number, spelt_out


@pytest.mark.parametrize(
    ("text", "language", "values"),
    [
        ("twenty-one people", "en", [21]),
        ("a hundred and a million", "en", [100, 1000000]),
        ("quatre-vingt-dix-sept ans", "fr", [97]),
        ("un million", "fr", [1000000]),
        ("zweiundvierzig Leute", "de", [42]),
        ("the third and the fifth", "en", [3, 5]),
        ("two dogs", "en", [2]),
        ("no number", "en", []),
        ("сорок два", "ru", []),
    ],
)
def test_numbers_in_words(text: str, language: str, values: list[int]) -> None:
    for _ in range(2):  # words are remembered
        assert [one.value for one in spelt_out(text, language)] == values
        spelt_out.cache_clear()
    large = [value for value in values if value > 2]
    assert says_number(text, language) == bool(large)
    assert says_number(text, language, is_small=True) == bool(values)


def test_parts_decades_and_percentages_say_numbers() -> None:
    assert says_number("in the sixties", "en")
    assert says_number("les deux tiers", "fr")
    assert says_number("one per cent", "en")
