from __future__ import annotations

import pytest

from model.text.currencies import same_currencies


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("It costs €25.99.", "Cela coûte 25,99 €."), ("$20", "20 dollars"), ("£20", "20 livres"),
        ("It is 5 € a day.", "5 euros par jour"), ("Use $HOME.", "Utilisez HOME."), ("no", "non"),
        ("US$20", "20 USD"),
    ],
)  # fmt: skip
def test_the_same_by_sign_code_or_word(source: str, translation: str) -> None:
    assert same_currencies(source, translation)
    assert same_currencies(translation, source)


@pytest.mark.parametrize(
    ("source", "translation"),
    [("It costs €25.99.", "Cela coûte 25,99."), ("€20", "20 $"), ("$20", "20 livres")],
)
def test_another_or_none(source: str, translation: str) -> None:
    assert not same_currencies(source, translation)
    assert not same_currencies(translation, source, ("fr", "en"))


def test_a_language_of_unknown_words_may_say_it_in_a_word_but_not_with_another_sign() -> None:
    assert same_currencies("€20", "20 евро", ("en", "ru"))
    assert not same_currencies("€20", "20 $", ("en", "ru"))
