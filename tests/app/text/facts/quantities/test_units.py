import pytest

from app.text.facts.compared_numbers import same_numbers
from tests.cases import cases


@pytest.mark.parametrize(
    ("source", "translation"), cases(__file__, "the_same_by_sign_code_or_word")
)
def test_the_same_by_sign_code_or_word(source: str, translation: str) -> None:
    assert same_numbers(source, translation)
    assert same_numbers(translation, source, ("fr", "en"))


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("It costs €25.99.", "Cela coûte 25,99."), ("€20", "20 $"), ("$20", "20 livres"),
        ("50% of it", "50 en tout"), ("665 ml", "665"), ("5 km", "5 cm"), ("100m", "100 millions"),
        ("$2 trillion", "2 $"), ("$2 trillion", "2 billions de livres"),
        ("2 billion", "2 billions"),
        ("30 ft long", "30 vols longs"), ("$12bn", "12bn $"), ("1.75 m", "1,75 mille"),
        ("$2 trillion", "2 trillions de dollars"), ("12 volts", "12 vols"), ("64 GB", "64 Mo"),
    ],
)  # fmt: skip
def test_another_or_none(source: str, translation: str) -> None:
    assert not same_numbers(source, translation)
    assert not same_numbers(translation, source, ("fr", "en"))


@pytest.mark.parametrize(
    ("source", "translation", "languages"),
    [
        ("Attendez 24 h.", "Wait 24 AM.", ("fr", "en")),
        ("avant 17 h", "before 17 pm", ("fr", "en")),
        ("72 h", "72 pm", ("fr", "en")), ("pendant 4 h", "at 4 am", ("fr", "en")),
        ("It took 4 h.", "Cela prit 4 hâte.", ("en", "fr")), ("the value 7.8", "7.8", ("en", "fr")),
        ("1 500 personnes", "1 500 people", ("fr", "en")), ("€25", "€25", ("en", "fr")),
        ("moins 20", "less than 20", ("fr", "en")), ("minus 20", "minus 20", ("en", "fr")),
    ],
)  # fmt: skip
def test_forms_that_the_language_does_not_have(
    source: str, translation: str, languages: tuple[str, str]
) -> None:
    assert not same_numbers(source, translation, languages)


def test_words_of_other_languages_are_those_of_cldr() -> None:
    assert same_numbers("€20", "20 евро", ("en", "ru"))
    assert not same_numbers("€20", "20 $", ("en", "ru"))
    assert same_numbers("€20, 5%", "20 евро, 5%", ("en", "ru"))
    assert same_numbers("5%", "5 процентов", ("en", "ru"))
    assert same_numbers("5 km", "5 км", ("en", "ru"))
    assert not same_numbers("5 km", "5 мест", ("en", "ru"))
    assert same_numbers("30 feet", "30フィート", ("en", "ja"))
    assert same_numbers("5 km", "5 foo", ("en", "xx"))


def test_a_sign_of_degrees_before_its_number_is_another() -> None:
    assert not same_numbers("à −2 °C", "to −°2 °C", ("fr", "en"))
    assert same_numbers("at 48° 51′, 20 ° 5", "à 48° 51′, 20 ° 5")
    assert same_numbers("n°5, à 2 °C", "n°5, at 2 °C", ("fr", "en"))
