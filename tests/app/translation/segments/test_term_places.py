from __future__ import annotations

import pytest

from app.text.glossary import Glossary, Term
from app.translation.segments.term_places import (
    is_behind_end,
    is_misplaced,
    similarity,
    was_added,
)

SOURCE = "I like the cat and the dog."
FREE = "J'aime le chat et le chien."


@pytest.fixture
def terms() -> list[Term]:
    return Glossary({"cat": "matou", "dog": "clébard"}).find(SOURCE)


def test_terms_behind_the_end(terms: list[Term]) -> None:
    for salad in (
        "J'aime le chat et le chien.matou clébard.", "J'aime le matou et le chien. clébard",
        "J'aime le chat et le chien ! Clébard matou ?",
    ):  # fmt: skip
        assert is_behind_end(terms, salad)
    for good in (
        "J'aime le matou et le clébard.", "Le matou ? Clébard dort.", "clébard matou", "", "...",
    ):  # fmt: skip
        assert not is_behind_end(terms, good)


def test_terms_that_replace_no_word_were_added(terms: list[Term]) -> None:
    assert was_added(terms, FREE, "J'aime le chat matou et le clébard.")
    assert not was_added(terms, FREE, "J'aime le matou et le clébard.")
    assert was_added(terms, FREE, "J'aime le matou clébard et le chien.")
    assert was_added(terms, FREE, "J'aime le chat et le matou clébard.")
    assert not was_added(terms, "J'aime le matou et clébard.", "J'aime matou et clébard.")


def test_an_added_term_is_misplaced_where_its_word_is_still_said(terms: list[Term]) -> None:
    shown = "J'aime le matou et le clébard."
    assert is_misplaced(terms, FREE, "J'aime le chat matou et le clébard.", shown)
    assert is_misplaced(terms, FREE, "J'aime le matou et le chien clébard.", shown)
    assert is_misplaced(terms, FREE, "J'aime le matou clébard et le chien.", shown)
    assert is_misplaced(terms, FREE, "J'aime le chat et le matou clébard.", shown)
    assert not is_misplaced(terms, FREE, shown, shown)


def test_an_added_term_may_say_what_the_free_translation_left_out() -> None:
    terms = Glossary({"stolen": "volée"}).find("He had his car stolen there.")
    free, found = "Il a eu sa voiture là.", "Il a eu sa voiture volée là."
    assert was_added(terms, free, found)
    assert not is_misplaced(terms, free, found, found)
    assert is_misplaced(terms, free, "Il a eu sa voiture là volée.", found)


def test_similarity_is_of_words_in_order() -> None:
    assert similarity(FREE, FREE) == 1
    assert similarity("a b", "c d") == 0
    assert similarity(FREE, "J'aime le matou.") > similarity(FREE, "Un matou !")
