from __future__ import annotations

import re

import pytest
from babel import Locale
from babel.core import get_cldr_version
from babel.localedata import locale_identifiers

from app.text.facts.number_conventions import CONVENTIONS, Convention, convention_of

_LANGUAGES = {code.split("-")[0] for code in CONVENTIONS}
_MONEY = {"¤#": "before", "¤ ": "before, apart", "0¤": "behind, joined", " ¤": "behind"}


def of_cldr(code: str) -> Convention:
    """Return what CLDR has, with plain spaces."""
    locale = Locale.parse(code.replace("-", "_"))
    assert locale.default_numbering_system == "latn"
    symbols = locale.number_symbols["latn"]
    money = re.sub("[\xa0\u202f]", " ", locale.currency_formats["standard"].pattern.split(";")[0])
    place = _MONEY.get(money[:2]) or _MONEY[money[-2:]]
    group = re.sub("[\xa0\u202f]", " ", symbols["group"])
    return Convention(symbols["decimal"], group, place)  # type: ignore[arg-type]


@pytest.mark.parametrize("code", sorted(CONVENTIONS))
def test_a_convention_is_that_of_cldr(code: str) -> None:
    locale = Locale.parse(code.replace("-", "_"))
    assert convention_of(code) == of_cldr(code)
    assert locale.decimal_formats[None].grouping == (3, 3)


@pytest.mark.parametrize(
    "code",
    sorted(
        code.replace("_", "-")
        for code in locale_identifiers()
        if code.split("_")[0] in _LANGUAGES - {"en"} and re.fullmatch("[a-z]+_[A-Z0-9]+", code)
    ),
)
def test_a_region_without_a_convention_is_as_its_language(code: str) -> None:
    assert convention_of(code) == of_cldr(code)


def test_the_conventions_are_those_of_the_version_that_is_named() -> None:
    assert get_cldr_version() == "47"


@pytest.mark.parametrize(("code", "same"), [("pt_PT", "pt-PT"), ("en-GB", "en"), ("zh-Hant", "zh")])
def test_codes_are_read_with_either_separator_and_without_a_region(code: str, same: str) -> None:
    assert convention_of(code) == CONVENTIONS[same]


@pytest.mark.parametrize("code", ["ar", "fa", "he", "hi", "xx", ""])
def test_others_are_not_known(code: str) -> None:
    assert convention_of(code) is None
