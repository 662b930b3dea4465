import pytest

from app.text.glossary import Glossary, Term
from app.translation.segments.term_places import (
    has_source_word,
    is_behind_end,
    is_in_place,
    similarity,
    was_added,
)

SOURCE = "I like the cat and the dog."
FREE = "J'aime le chat et le chien."
EXPECTED = "J'aime le matou et le clébard."
"""Return the translation with stand-ins."""


@pytest.fixture
def terms() -> list[Term]:
    return list(Glossary({"cat": "matou", "dog": "clébard"}).find(SOURCE))


def test_terms_behind_the_end(terms: list[Term]) -> None:
    for salad in (
        "J'aime le chat et le chien.matou clébard.", "J'aime le matou et le chien. clébard",
        "J'aime le chat et le chien ! Clébard matou ?",
    ):  # fmt: skip
        assert is_behind_end(terms, salad)
        assert not is_in_place(terms, FREE, salad, salad)
    for good in (
        "J'aime le matou et le clébard.", "Le matou ? Clébard dort.", "clébard matou", "", "...",
    ):  # fmt: skip
        assert not is_behind_end(terms, good)


@pytest.mark.parametrize(
    "salad",
    [
        "J'aime le chat matou et le clébard.", "J'aime le matou et le chien clébard.",
        "J'aime le matou clébard et le chien.", "J'aime le chat et le matou clébard.",
        "J'aime le clébard et le matou.", "Matou aime le chat et le clébard.",
        "J'aime le matou et le clébard, clébard.",
    ],
)  # fmt: skip
def test_terms_beside_their_words_or_instead_of_others(terms: list[Term], salad: str) -> None:
    assert not is_in_place(terms, FREE, salad, EXPECTED)


@pytest.mark.parametrize(
    "good", [EXPECTED, "J'aime un matou et le clébard.", "J'aime le beau matou et le clébard !"]
)
def test_terms_at_their_positions(terms: list[Term], good: str) -> None:
    assert is_in_place(terms, FREE, good, EXPECTED)


def test_short_words_show_that_a_term_was_added() -> None:
    terms = list(Glossary({"chat": "tomcat", "chien": "mutt"}).find("J'aime le chat et le chien."))
    free, translation = "I like the cat and the dog.", "I like the tomcat and the mutt."
    assert not is_in_place(terms, free, "I mutt like tomcat and the dog.", translation)
    assert not is_in_place(terms, free, "I like the tomcat and the dog mutt.", translation)


def test_a_term_instead_of_a_wrong_word() -> None:
    terms = list(Glossary({"chien": "mutt"}).find("Le chien dort."))
    assert not is_in_place(terms, "The dog sleeps.", "The dog is mutt.", "The mutt sleeps.")


def test_an_added_term_may_replace_an_omission_of_the_free_translation() -> None:
    terms = list(Glossary({"stolen": "volée"}).find("He had his car stolen there."))
    free, found = "Il a eu sa voiture là.", "Il a eu sa voiture volée là."
    assert is_in_place(terms, free, found, found)
    assert not is_in_place(terms, free, "Il a eu sa voiture là volée.", found)


def test_a_term_of_the_free_translation_may_be_anywhere(terms: list[Term]) -> None:
    translation = "J'aime le matou et le clébard."
    assert is_in_place(
        terms, "J'aime matou et le clébard.", "Clébard et matou aiment.", translation
    )


def test_a_term_that_replaces_no_word_was_added(terms: list[Term]) -> None:
    assert was_added(terms, FREE, "J'aime le chat matou et le clébard.")
    assert not was_added(terms, FREE, EXPECTED)
    assert not was_added(terms, "J'aime le matou et clébard.", "J'aime matou et clébard.")


def test_similarity_is_of_words_in_order() -> None:
    assert similarity(FREE, FREE) == 1
    assert similarity("a b", "c d") == 0
    assert similarity(FREE, "J'aime le matou.") > similarity(FREE, "Un matou !")


def test_a_word_of_the_source_term_beside_the_target_is_a_repetition() -> None:
    source = "He works for Acme Inc. today."
    terms = list(Glossary({"Acme Inc.": "Acme SARL"}).find(source))
    assert has_source_word(terms, source, "Il travaille pour Acme SARL Inc. ce jour.")
    assert not has_source_word(terms, source, "Il travaille pour Acme SARL ce jour.")
    source = "M. Dupont and Dupont"
    terms = list(Glossary({"M. Dupont": "Mr. Bridge"}).find(source))
    assert not has_source_word(terms, source, "Mr. Bridge et Dupont")
    assert has_source_word(terms, source, "Mr. Bridge Dupont et Dupont")


def test_a_term_instead_of_an_article_was_added() -> None:
    terms = list(Glossary({"city": "Ville-sur-Lune"}).find("The city is famous."))
    free = "La ville est célèbre."
    assert was_added(terms, free, "Ville-sur-Lune ville est célèbre.")
    assert not was_added(terms, free, "Ville-sur-Lune est célèbre.")
