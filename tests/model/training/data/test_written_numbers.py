import re
from random import Random

import pytest

from model.training.data.written_numbers import (
    Written,
    amount,
    date,
    decimal,
    generate_pairs,
    integer,
    measure,
    share,
    time_of_day,
)


def digits(text: str) -> list[str]:
    return sorted(re.findall(r"\d", text))


@pytest.mark.parametrize("seed", range(200))
@pytest.mark.parametrize("write", [integer, decimal, amount, measure, share])
def test_both_sides_have_the_same_digits(write: object, seed: int) -> None:
    assert callable(write)
    english, french = write(Random(seed))
    assert digits(english) == digits(french)


def test_each_language_marks_decimals_and_thousands_its_own_way() -> None:
    pairs = [decimal(Random(seed)) for seed in range(300)]
    assert all(re.fullmatch(r"\d{1,3}(,?\d{3})*\.\d{1,2}", english) for english, _ in pairs)
    assert all(re.fullmatch(r"\d{1,3}( ?\d{3})*,\d{1,2}", french) for _, french in pairs)


def test_the_currency_is_before_the_amount_in_english_and_behind_it_in_french() -> None:
    signs = [pair for pair in (amount(Random(seed)) for seed in range(300)) if pair[1][-1] in "€$£"]
    assert signs
    assert all(english[0] == french[-1] for english, french in signs)


def test_a_time_is_the_same_moment() -> None:
    def minutes(pair: Written) -> tuple[int, int]:
        english, french = pair
        found = re.fullmatch(r"(\d+)(?::(\d\d))?(?: ([ap])\.?m\.?)?", english, re.IGNORECASE)
        assert found, english
        hour, minute, half = found.groups()
        hours = int(hour) % 12 + 12 * (half.lower() == "p") if half else int(hour)
        other = re.fullmatch(r"(\d+)(?: h(?: (\d\d))?|:(\d\d))", french)
        assert other, french
        return (hours * 60 + int(minute or 0), int(other[1]) * 60 + int(other[2] or other[3] or 0))

    for seed in range(300):
        english, french = minutes(time_of_day(Random(seed)))
        assert english == french


def test_the_first_of_a_month_is_an_ordinal_in_french() -> None:
    dates = [date(Random(seed)) for seed in range(2000)]
    firsts = [french for english, french in dates if re.search(r"\b1\b", english)]
    assert firsts
    assert all(french.startswith("1er ") for french in firsts)


def test_generated_pairs_follow_their_seed() -> None:
    assert generate_pairs(500, seed=3) == generate_pairs(500, seed=3)
    assert generate_pairs(500, seed=3) != generate_pairs(500, seed=4)
    assert len(set(generate_pairs(500, seed=3))) > 450
