from decimal import Decimal

import pytest

from app.text.cldr import (
    Convention,
    convention_of,
    era_name,
    era_names,
    month_names,
    scale_name,
    scale_words,
    unit_pattern,
    unit_words,
)
from app.text.facts.quantities.currencies import currency_words


@pytest.mark.parametrize(
    ("code", "convention"),
    [
        ("en", Convention(".", ",", "before")), ("fr", Convention(",", " ", "behind")),
        ("de", Convention(",", ".", "behind")), ("de-CH", Convention(".", "’", "before, apart")),
        ("pt-PT", Convention(",", " ", "behind")), ("pt", Convention(",", ".", "before, apart")),
        ("es-MX", Convention(".", ",", "before")), ("ja", Convention(".", ",", "before")),
        ("zh-Hant", Convention(".", ",", "before")), ("ru", Convention(",", " ", "behind")),
    ],
)  # fmt: skip
def test_the_convention_of_a_language(code: str, convention: Convention) -> None:
    assert convention_of(code) == convention
    assert convention_of(code.replace("-", "_")) == convention


@pytest.mark.parametrize("code", ["ar", "fa", "he", "hi", "bn", "xx", "", "not a code", "pt-XX-YY"])
def test_a_convention_that_is_not_one_of_digits_by_threes_is_not_known(code: str) -> None:
    assert convention_of(code) is None or code == "pt-XX-YY"


def test_words_for_large_numbers_have_the_scale_of_their_language() -> None:
    assert scale_words("en")["billion"] == 9
    assert scale_words("fr")["billion"] == scale_words("de")["billionen"] == 12
    assert scale_words("ja")["億"] == 8
    assert scale_name(9, Decimal(2), "fr") == ("milliards", 9)
    assert scale_name(12, Decimal(2), "en") == ("trillion", 12)
    assert not scale_words("xx")


def test_words_for_units_and_currencies() -> None:
    assert unit_words("en")["feet"] == unit_words("fr")["pieds"] == "length-foot"
    assert unit_words("en")["metres"] == unit_words("en")["meters"] == "length-meter"
    assert "in" not in unit_words("en")
    assert unit_words("ru")["метров"] == "length-meter"
    assert {"dollar", "dollars", "usd", "$", "buck", "bucks"} == currency_words("en")["$"]
    assert "livres" in currency_words("fr")["£"]
    assert not unit_words("xx")
    assert currency_words("xx")["€"] == {"€", "eur"}


def test_units_are_written_by_the_rules_for_plurals() -> None:
    assert unit_pattern("length-foot", Decimal(1), "fr", is_short=False) == "{0} pied"
    assert unit_pattern("length-foot", Decimal(30), "fr", is_short=False) == "{0} pieds"
    assert unit_pattern("length-foot", Decimal(30), "xx", is_short=False) is None


def test_months_and_eras() -> None:
    assert (
        month_names("fr")["juillet"] == month_names("de")["juli"] == month_names("en")["jul"] == 7
    )
    assert {"bc", "bce"} <= era_names("en")["before"]
    assert "avjc" in era_names("fr")["before"]
    assert era_name("before", "fr") == "av. J.-C."
    assert not month_names("xx")
    assert not era_names("xx")
