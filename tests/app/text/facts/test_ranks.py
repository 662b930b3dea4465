import pytest

from app.text.facts.compared import fact_faults
from app.text.facts.ranks import is_roman, ordinal_in, roman_numerals, same_ordinals


@pytest.mark.parametrize(
    ("english", "french"),
    [
        ("the 33rd time", "la 33e fois"), ("the 33rd time", "la 33ème fois"),
        ("the 16th floor", "le 16ième étage"), ("the 11th floor", "le onzième étage"),
        ("the twenty-first time", "la 21e fois"), ("the 14th century", "le XIVe siècle"),
        ("on the 21st", "le 21"), ("May 5th", "le 5 mai"), ("the 1st of June", "le 1er juin"),
        ("Monday 3rd", "lundi 3"), ("2/3 of it", "2/3"), ("two-thirds", "2/3"),
        ("the 2nd one", "le second"), ("no ordinal", "rien"), ("the 5 ends", "les 5 e"),
    ],
)  # fmt: skip
def test_the_same_rank(english: str, french: str) -> None:
    assert same_ordinals(english, french, ("en", "fr"))


@pytest.mark.parametrize(
    ("english", "french"),
    [
        ("33 times he asks", "la 33e fois qu'il demande"), ("on 30 floor", "au 30e étage"),
        ("the 22nd floor", "sol 22"), ("the 22nd floor", "le 22"),
        ("the 101st floor", "le 101 étage"),
        ("the 22nd time", "la 21e fois"),
    ],
)  # fmt: skip
def test_a_cardinal_instead_or_another_rank(english: str, french: str) -> None:
    assert not same_ordinals(english, french, ("en", "fr"))
    assert "facts" in fact_faults(english, french, ("en", "fr"))
    assert "facts" in fact_faults(french, english, ("fr", "en"))


@pytest.mark.parametrize(
    ("rank", "language", "written"),
    [
        (1, "en", "1st"), (2, "en", "2nd"), (3, "en", "3rd"), (11, "en", "11th"), (22, "en",
        "22nd"),
        (113, "en", "113th"), (1, "fr", "1er"), (2, "fr-CA", "2e"), (3, "de", "3."), (3, "es",
        "3.º"),
        (3, "nl", "3e"), (3, "ja", None),
    ],
)  # fmt: skip
def test_an_ordinal_in_digits(rank: int, language: str, written: str | None) -> None:
    assert ordinal_in(rank, str(rank), language) == written


def test_roman_numerals() -> None:
    assert list(roman_numerals("Louis XIV and the IXth, I say")) == [("XIV", 14), ("IX", 9)]
    assert is_roman("XVIII")
    assert not is_roman("XVIX")
    assert not is_roman("IIII")
