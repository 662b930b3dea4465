from collections.abc import Callable

import pytest
from babel.localedata import locale_identifiers

from model.interop.m2m100.languages import LISTS
from model.text.language_codes import (
    canonical_code,
    codes_of_symbols,
    requested_codes,
    standard_code,
)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("fra", "fr"),
        ("fr", "fr"),
        ("por_BR", "pt-BR"),
        ("cmn_Hans", "zh-Hans"),
        ("gsw", "gsw"),
        ("zh_hant", "zh-Hant"),
        ("tgl", "tl"),
        ("tl", "tl"),
        ("iw", "he"),
        ("arb", "ar"),
    ],
)
def test_codes_are_those_of_the_api(name: str, code: str) -> None:
    assert standard_code(name) == code


def test_two_symbols_never_get_one_code() -> None:
    symbols = [">>fra<<", ">>fr<<", ">>pt_br<<"]
    assert codes_of_symbols([">>fra<<", ">>deu<<"]) == {"fr": ">>fra<<", "de": ">>deu<<"}
    for order in (symbols, symbols[::-1]):
        codes = codes_of_symbols(order)
        assert sorted(codes.values()) == sorted(symbols)


NAMED = sorted({*locale_identifiers(), *LISTS["nllb"], *LISTS["m2m100"], "sh", "iw", "zt", "pb"})


@pytest.mark.parametrize("convert", [canonical_code, standard_code])
def test_a_converted_code_stays(convert: Callable[[str], str]) -> None:
    assert [name for name in NAMED if convert(convert(name)) != convert(name)] == []


def test_a_code_means_itself_in_every_form() -> None:
    for name in NAMED:
        canonical = canonical_code(name)
        assert canonical in requested_codes(name)
        for form in (name.upper(), name.replace("_", "-").lower(), standard_code(name)):
            assert canonical_code(form) == canonical
