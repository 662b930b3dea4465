from __future__ import annotations

import pytest

from app.text.facts.number_words import same_ordinals
from app.text.facts.numbers import same_numbers


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
    assert same_ordinals({"en": english, "fr": french})


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
    assert not same_ordinals({"en": english, "fr": french})
    assert not same_numbers(english, french, ("en", "fr"))
    assert not same_numbers(french, english, ("fr", "en"))
