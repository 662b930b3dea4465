from __future__ import annotations

import pytest

from app.text.facts.units import same_units


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("It costs €25.99.", "Cela coûte 25,99 €."), ("$20", "20 dollars"), ("£20", "20 livres"),
        ("It is 5 € a day.", "5 euros par jour"), ("Use $HOME.", "Utilisez HOME."), ("no", "non"),
        ("US$20", "20 USD"), ("50%", "50 %"), ("5% of it", "cinq pour cent"),
        ("50%", "50 pour-cent"), ("up 5%", "cinq points de plus"),
        ("5 km", "cinq kilomètres"), ("25kg", "25 kg"), ("665 ml", "665 mL"), ("2 GB", "2 Go"),
        ("20 °C", "20 degrés"), ("20 °C", "20° C"), ("It is 5 MB.", "Cela fait 5 mégaoctets."),
        ("100% sure", "sûr à cent pour cent"),
    ],
)  # fmt: skip
def test_the_same_by_sign_code_or_word(source: str, translation: str) -> None:
    assert same_units(source, translation)
    assert same_units(translation, source)


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("It costs €25.99.", "Cela coûte 25,99."),
        ("€20", "20 $"),
        ("$20", "20 livres"),
        ("50% of it", "50 en tout"),
        ("665 ml", "665"),
        ("5 km", "5 cm"),
    ],
)
def test_another_or_none(source: str, translation: str) -> None:
    assert not same_units(source, translation)
    assert not same_units(translation, source, ("fr", "en"))


def test_a_language_of_unknown_words_may_say_it_in_a_word_but_not_with_another_sign() -> None:
    assert same_units("€20", "20 евро", ("en", "ru"))
    assert not same_units("€20", "20 $", ("en", "ru"))
    assert same_units("€20, 5%", "20 евро, 5%", ("en", "ru"))
    assert same_units("5%", "5 процентов", ("en", "ru"))
    assert same_units("5 km", "5 км", ("en", "ru"))


def test_a_sign_of_degrees_before_its_number_is_another() -> None:
    assert not same_units("à −2 °C", "to −°2 °C", ("fr", "en"))
    assert same_units("at 48° 51′, 20 ° 5", "à 48° 51′, 20 ° 5")
    assert same_units("n°5, à 2 °C", "n°5, at 2 °C", ("fr", "en"))
