from decimal import Decimal

import pytest

from app.text.facts.compared import fact_faults
from app.text.facts.quantities.parts import parts_of_units


def test_a_part_has_its_amount_in_smaller_units() -> None:
    [part] = parts_of_units("for half an hour", "en")
    assert list(part.amounts()) == [
        (Decimal("0.5"), frozenset({"duration-hour"})),
        (Decimal(30), frozenset({"duration-minute"})),
    ]


@pytest.mark.parametrize("text", ["half of the year", "the third week", "half past ten", "a half"])
def test_others_are_not_parts_of_units(text: str) -> None:
    assert not list(parts_of_units(text, "en"))


@pytest.mark.parametrize(
    ("english", "french"),
    [
        ("It rose by half a point.", "Il a pris un demi-point."),
        ("It rose by half a point.", "Il a pris 0,5 point."),
        ("It fell by a quarter of a point.", "Il a perdu un quart de point."),
        ("It lasts half an hour.", "Cela dure une demi-heure."),
        ("It lasts half an hour.", "Cela dure 30 minutes."),
        ("It lasts half an hour.", "Cela dure trente minutes."),
        ("It lasts a quarter of an hour.", "Cela dure un quart d'heure."),
        ("Add half a litre of milk.", "Ajoutez un demi-litre de lait."),
        ("Add half a litre of milk.", "Ajoutez 50 cl de lait."),
        ("Half a mile from here.", "À un demi-mille d'ici."),
        ("A third of a second.", "Un tiers de seconde."),
        ("Half a second.", "Une demi-seconde."),
        ("Half a century.", "Cinquante ans."),
        ("Half a day.", "Une demi-journée."),
        ("Half a year.", "Six mois."),
        ("Half a percent.", "Un demi pour cent."),
    ],
)
def test_the_same_parts(english: str, french: str) -> None:
    assert not fact_faults(english, french, ("en", "fr"))
    assert not fact_faults(french, english, ("fr", "en"))


@pytest.mark.parametrize(
    ("english", "french"),
    [
        ("It rose by half a point.", "Il a augmenté de moitié."),
        ("It rose by half.", "Il a augmenté d'un demi-point."),
        ("It fell by a quarter of a point.", "Il a perdu un point."),
        ("It lasts half an hour.", "Cela dure une heure."),
        ("It lasts an hour.", "Cela dure une demi-heure."),
        ("It lasts a quarter of an hour.", "Cela dure une demi-heure."),
        ("Add half a litre of milk.", "Ajoutez un litre de lait."),
        ("Half a second.", "Un demi."),
        ("A third of a second.", "Une seconde."),
    ],
)
def test_other_parts(english: str, french: str) -> None:
    assert "numbers" in fact_faults(english, french, ("en", "fr"))
    assert "numbers" in fact_faults(french, english, ("fr", "en"))
