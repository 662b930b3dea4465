import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.facts.compared import fact_faults
from app.text.facts.quantities.slang_money import is_of_prices, is_other_thing
from app.text.facts.written import number_forms
from tests.linear import assert_linear

NUMBERS = st.integers(2, 999).filter(lambda n: n not in range(1, 13))


@given(NUMBERS, st.sampled_from(["quid", "bucks"]))
def test_slang_is_an_amount_of_its_currency(number: int, slang: str) -> None:
    noun, other = ("livres", "dollars") if slang == "quid" else ("dollars", "livres sterling")
    english = f"The jacket cost me {number} {slang}."
    french = "La veste m'a coûté {}."
    for right in (f"{number} {noun}", f"{number} balles"):
        assert not fact_faults(english, french.format(right), ("en", "fr"))
        assert not fact_faults(french.format(right), english, ("fr", "en"))
    for wrong in (f"{number}", f"{number} {other}", f"{number + 1} {noun}", f"{number} fois"):
        assert fact_faults(english, french.format(wrong), ("en", "fr")) == ("numbers",), wrong


@given(NUMBERS)
def test_balles_are_of_any_currency_and_no_bullets(number: int) -> None:
    french = f"Ça m'a coûté {number} balles."
    for right in ("euros", "francs", "bucks", "quid", "dollars"):
        assert not fact_faults(french, f"It cost me {number} {right}.", ("fr", "en"))
    for wrong in ("bullets", "balls", ""):
        assert fact_faults(french, f"It cost me {number} {wrong}.", ("fr", "en")) == ("numbers",)


@pytest.mark.parametrize(
    ("source", "translation", "languages"),
    [
        ("Il a tiré 20 balles.", "He fired 20 bullets.", ("fr", "en")),
        ("Il a acheté 20 balles de tennis.", "He bought 20 tennis balls.", ("fr", "en")),
        ("The hunter shot two bucks.", "Le chasseur a tué deux cerfs.", ("en", "fr")),
        ("Un mur de 40 briques.", "A wall of 40 bricks.", ("fr", "en")),
    ],
)
def test_the_same_words_for_other_things(
    source: str, translation: str, languages: tuple[str, str]
) -> None:
    assert not fact_faults(source, translation, languages)


def test_other_things_by_the_words_around() -> None:
    assert is_of_prices("pour cinquante balles", 15)
    assert not is_of_prices("une boîte de balles", 13)
    assert is_other_thing("balles", "une boîte de balles", 13)
    assert is_other_thing("bucks", "a deer hunt: two bucks", 17)
    assert not is_other_thing("bucks", "ten bucks", 4)
    assert not is_other_thing("euros", "une boîte d'euros", 12)


@pytest.mark.parametrize(
    "unit", ["5 quid ", "5 grand ", "5 balles ", "5 dozen ", "half an hour ", "1億2000万"]
)
def test_time_is_linear_in_the_length(unit: str) -> None:
    def work(n: int) -> None:
        for language, other in (("en", "fr"), ("fr", "en")):
            fact_faults(unit * n, "30 " * n, (language, other))
            number_forms(unit * n, language, other, with_nouns=True)

    assert_linear(work, 6_000 // len(unit))
