import pytest

from model.text.language_codes import codes_of_symbols, standard_code


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
