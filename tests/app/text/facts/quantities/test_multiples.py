import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.facts.compared import fact_faults
from app.text.facts.compared_numbers import same_numbers
from app.text.facts.quantities.multiples import MULTIPLES, multiples
from app.text.facts.quantities.number_words import spelt_out
from tests.linear import assert_linear

WORDS = {
    "en": ["two", "three", "five", "nine", "ten", "twelve", "twenty-one"],
    "fr": ["deux", "trois", "cinq", "neuf", "dix", "douze", "vingt et un"],
}
VALUES = [2, 3, 5, 9, 10, 12, 21]
FRENCH = {
    value: noun for noun, value in MULTIPLES["fr"].items() if noun.endswith("aine") and value != 100
}


@pytest.mark.parametrize(
    ("text", "language", "values"),
    [
        ("two dozen eggs", "en", [24]),
        ("a dozen eggs", "en", [12]),
        ("half a dozen eggs", "en", [6]),
        ("a half-dozen eggs", "en", [6]),
        ("three score and ten", "en", [60, 10]),
        ("a score of people", "en", [20]),
        ("dozens of eggs", "en", []),
        ("several dozen eggs", "en", []),
        ("a few dozen eggs", "en", []),
        ("a baker's dozen", "en", []),
        ("a score of 85", "en", []),
        ("the score of the film", "en", []),
        ("It cost five grand.", "en", [5000]),
        ("He paid a grand for it.", "en", [1000]),
        ("We bought five grand pianos.", "en", [5]),
        ("deux douzaines d'œufs", "fr", [24]),
        ("une demi-douzaine d'œufs", "fr", [6]),
        ("une bonne dizaine de jours", "fr", [10]),
        ("une centaine de personnes", "fr", [100]),
        ("des centaines de personnes", "fr", []),
        ("trois milliers", "fr", [3000]),
        ("la quarantaine", "fr", []),
        ("Elle coûte trente briques.", "fr", [300_000]),
        ("un mur de trente briques", "fr", [30]),
    ],
)
def test_numbers_with_a_noun_that_multiplies_them(
    text: str, language: str, values: list[int]
) -> None:
    found = [one.value for one in spelt_out(text, language)]
    assert [one for one in found if one > 1 or one in values] == values


@given(st.sampled_from(range(len(VALUES))), st.sampled_from(range(len(VALUES))))
def test_dozens_are_compared_by_value(one: int, other: int) -> None:
    english = f"They sold {WORDS['en'][one]} dozen eggs."
    for there in (
        f"Ils ont vendu {WORDS['fr'][other]} douzaines d'œufs.",
        f"Ils ont vendu {VALUES[other]} douzaines d'œufs.",
        f"Ils ont vendu {12 * VALUES[other]} œufs.",
    ):
        assert (not fact_faults(english, there, ("en", "fr"))) == (one == other), there
        assert (not fact_faults(there, english, ("fr", "en"))) == (one == other), there


@given(st.sampled_from(sorted(FRENCH)), st.sampled_from(sorted(FRENCH)))
def test_french_tens_are_compared_by_value(one: int, other: int) -> None:
    french = f"Il y avait une {FRENCH[one]} de chaises."
    english = f"There were {other} chairs."
    assert (not fact_faults(french, english, ("fr", "en"))) == (one == other)
    assert (not fact_faults(english, french, ("en", "fr"))) == (one == other)


@pytest.mark.parametrize(
    ("source", "translation", "languages"),
    [
        ("two dozen eggs", "2 Dozen œufs", ("en", "fr")),
        ("2 dozen eggs", "2 œufs", ("en", "fr")),
        ("a dozen eggs", "une dizaine d'œufs", ("en", "fr")),
        ("une dizaine d'œufs", "a dozen eggs", ("fr", "en")),
        ("une quinzaine d'invités", "a quinzaine of guests", ("fr", "en")),
        ("It cost five grand.", "Ça a coûté cinq grands.", ("en", "fr")),
        ("It cost 5 grand.", "Ça a coûté 5 dollars.", ("en", "fr")),
        ("Elle coûte trente briques.", "It costs thirty bricks.", ("fr", "en")),
        ("He gave me a tenner.", "Il m'a donné un tenant.", ("en", "fr")),
    ],
)
def test_others_are_faults(source: str, translation: str, languages: tuple[str, str]) -> None:
    assert fact_faults(source, translation, languages) == ("numbers",)


def test_thousands_in_slang_may_count_any_currency() -> None:
    assert same_numbers("It cost 5 grand.", "Ça a coûté 5 000 dollars.")
    assert same_numbers("Elle coûte 30 briques.", "It costs 300,000 euros.", ("fr", "en"))
    assert not fact_faults("He gave me a tenner.", "Il m'a donné dix livres.", ("en", "fr"))


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize(
    "unit", ["dozen ", "two dozen ", "half a ", "score of ", "grand", "une dizaine d'"]
)
def test_time_is_linear(language: str, unit: str) -> None:
    assert_linear(lambda n: list(multiples(unit * n, language)), 20_000 // len(unit))
