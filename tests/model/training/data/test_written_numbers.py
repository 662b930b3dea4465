import re
from collections.abc import Callable
from random import Random

import pytest

from model.training.data.written_numbers import (
    KINDS,
    TABLES,
    Written,
    amount,
    code,
    date,
    decimal,
    era,
    generate_pairs,
    identifier,
    in_words,
    integer,
    measure,
    ordinal,
    rank,
    roman,
    scale,
    share,
    telephone,
    time_of_day,
)
from tests.cases import cases


def digits(text: str) -> list[str]:
    return sorted(re.findall(r"\d", text))


@pytest.mark.parametrize("write", [integer, decimal, amount, measure, share])
def test_both_sides_have_the_same_digits(write: Callable[[Random], Written]) -> None:
    for seed in range(200):
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


SEEDS = range(300)


@pytest.mark.parametrize("write", [telephone, identifier, code])
def test_kept_numbers_are_the_same_on_both_sides(write: Callable[[Random], Written]) -> None:
    pairs = [write(Random(seed)) for seed in SEEDS]
    assert all(english == french for english, french in pairs)
    assert len(set(pairs)) > 200


def test_there_are_telephone_numbers_of_several_countries() -> None:
    found = [telephone(Random(seed))[0] for seed in SEEDS]
    for form in (
        r"0\d( \d\d){4}",
        r"\+33 \d( \d\d){4}",
        r"\(\d{3}\) \d{3}-\d{4}",
        r"020 7\d{3} \d{4}",
    ):
        assert any(re.fullmatch(form, one) for one in found), form


@pytest.mark.parametrize(("value", "english", "french"), cases(__file__, "numbers_in_words"))
def test_numbers_in_words(value: int, english: str, french: str) -> None:
    assert in_words(value) == (english, french)


def test_every_number_in_words_is_another_one() -> None:
    written = [in_words(value) for value in range(3, 1000)]
    assert len({english for english, _ in written}) == len({f for _, f in written}) == 997


@pytest.mark.parametrize(
    ("value", "english", "french"),
    [(1, "1st", "1er"), (2, "2nd", "2e"), (3, "3rd", "3e"), (11, "11th", "11e"),
     (12, "12th", "12e"), (22, "22nd", "22e"), (111, "111th", "111e")],
)  # fmt: skip
def test_ordinals(value: int, english: str, french: str) -> None:
    assert ordinal(value) == (english, french)


def test_roman_numerals() -> None:
    assert [roman(n) for n in (1, 4, 9, 14, 19, 21)] == ["I", "IV", "IX", "XIV", "XIX", "XXI"]


def test_eras_and_ranks_agree() -> None:
    for seed in SEEDS:
        english, french = era(Random(seed))
        assert ("BC" in english) == ("av. J.-C." in french)
        english, french = rank(Random(seed))
        assert re.findall(r"\d+", english) == re.findall(r"\d+", french)


def test_a_trillion_is_a_thousand_milliards() -> None:
    pairs = [scale(Random(seed)) for seed in range(1000)]
    trillions = [pair for pair in pairs if "trillion" in pair[0]]
    assert trillions
    for english, french in trillions:
        whole = re.sub(r"\D", "", english)
        assert french.startswith(f"{whole} 000 milliards")
    assert all("milliard" in f for e, f in pairs if "billion" in e)


def test_every_sentence_has_one_gap_on_each_side() -> None:
    for _, write in KINDS:
        sentences = TABLES["sentences"][write.__name__]
        assert all(english.count("{}") == french.count("{}") == 1 for english, french in sentences)
