from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text import glossary
from app.text.glossary import Glossary, has_all_terms
from app.text.spans import Span


def found(
    text: str, entries: dict[str, str] | None = None, stays: list[str] | None = None
) -> list[tuple[str, str]]:
    """(term in the text, required term of the translation), in order."""
    terms = list(Glossary(entries or {}, stays or []).find(text))
    return [(term.span.of(text), term.target) for term in terms]


def test_terms_are_found_as_whole_words() -> None:
    entries = {"cat": "chat", "C++": "C++", "e-mail": "courriel", "l'eau": "water"}
    assert found("cat, concatenate cats; the-cat’s (cat)", entries) == [("cat", "chat")] * 3
    assert found("C++ e-mail C++x", entries) == [
        ("C++", "C++"), ("e-mail", "courriel"), ("C++", "C++"),
    ]  # fmt: skip
    assert found("de l'eau", entries) == [("l'eau", "water")]


def test_the_longer_term_has_precedence_and_none_is_within_another() -> None:
    entries = {"card": "carte", "credit card": "carte bleue", "card game": "jeu de cartes"}
    text = "A credit card game, a card game and a card"
    assert found(text, entries) == [
        ("credit card", "carte bleue"), ("card game", "jeu de cartes"), ("card", "carte"),
    ]  # fmt: skip


def test_lower_case_terms_match_any_case_and_others_only_as_written() -> None:
    entries = {"house": "demeure", "US": "États-Unis", "Apple Pay": "Apple Pay"}
    text = "House HOUSE us US Apple pay Apple Pay"
    assert found(text, entries) == [
        ("House", "demeure"), ("HOUSE", "demeure"), ("US", "États-Unis"),
        ("Apple Pay", "Apple Pay"),
    ]  # fmt: skip
    assert found("US us", {"us": "nous", "US": "États-Unis"}) == [
        ("US", "États-Unis"), ("us", "nous"),
    ]  # fmt: skip


def test_untranslated_terms_precede_translated_ones() -> None:
    assert found("House and house", {}, ["house"]) == [("House", "House"), ("house", "house")]
    assert found("the house", {"house": "demeure"}, ["house"]) == [("house", "house")]


def test_any_white_space_is_as_good_as_another_but_not_as_none() -> None:
    entries = {"credit card": "carte bleue", "100%": "cent"}
    assert len(found("credit\u00a0card credit \n card creditcard", entries)) == 2
    assert found("100 % 100%", entries) == [("100%", "cent")]


def test_scripts_without_spaces_have_terms_too() -> None:
    assert found("使用机器翻译系统", {"机器翻译": "machine translation"}) == [
        ("机器翻译", "machine translation")
    ]


def test_combining_marks_belong_to_their_word() -> None:
    assert found("cafe\u0301 cafe", {"cafe": "coffee"}) == [("cafe", "coffee")]


def test_terms_do_not_overlap_other_spans() -> None:
    text = "a cat, {cat} cat"
    glossary = Glossary({"cat": "chat", "cat {": "x"})
    assert [term.span for term in glossary.find(text, [Span(7, 12)])] == [(2, 5), (13, 16)]


@pytest.mark.parametrize("text", ["", " \n", "…"])
def test_an_empty_text_or_glossary_has_no_terms(text: str) -> None:
    assert found(text, {"cat": "chat"}) == []
    assert not Glossary({})
    assert list(Glossary({}).find("cat")) == []


def test_target_terms_in_a_text_are_kept() -> None:
    targets = Glossary({"cat": "Mieze"}, ["dog"]).of_targets()
    terms = targets.find("a Mieze, a dog, a cat")
    assert [(term.target, term.may_be_capital) for term in terms] == [
        ("Mieze", False), ("dog", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("translation", "valid"),
    [
        ("un chat voit l'chat.", True),
        ("Chat et chat", True),
        ("un chat", False),
        ("chats, chat", False),
        ("achat chat", False),
        ("un Chat, un chat", False),  # not at the beginning
        ("CHAT chat", False),
        ("", False),
    ],
)
def test_a_translation_has_each_term_as_often_as_the_source(translation: str, valid: bool) -> None:
    terms = list(Glossary({"cat": "chat", "kitty": "chat"}).find("a cat and a kitty"))
    assert has_all_terms(terms, translation) == valid


def test_untranslated_terms_keep_their_lower_case_at_the_start() -> None:
    terms = list(Glossary({}, ["iPhone"]).find("iPhone"))
    assert has_all_terms(terms, "iPhone")
    assert not has_all_terms(terms, "IPhone")


words = st.text(alphabet="aBé猫 -'.\u0301\n", max_size=12)


@given(text=words, sources=st.lists(words, max_size=4))
def test_terms_are_in_order_disjoint_and_in_the_text(text: str, sources: list[str]) -> None:
    terms = list(Glossary({}, sources).find(text))
    ends = [0, *(term.span.end for term in terms)]
    assert all(end <= term.span.start for end, term in zip(ends, terms, strict=False))
    assert has_all_terms(terms, text)
    for source in sources:
        if source and source == source.strip() and not any(map(str.isspace, source)):
            [term] = list(Glossary({source: "x"}).find(source))
            assert term.span == (0, len(source))


@pytest.mark.parametrize("term", ["caf\u00e9 d'été", "cafe\u0301 d’e\u0301te\u0301", "Café d'été"])
@pytest.mark.parametrize("text", ["le caf\u00e9 d’été.", "le cafe\u0301 d'e\u0301t\u00e9."])
def test_apostrophes_and_encodings_of_accents_are_equal(term: str, text: str) -> None:
    found = [term.source for term in Glossary({term.lower(): "x"}).find(text)]
    assert found == [text[3:-1]]


def test_a_term_may_end_in_a_full_stop() -> None:
    glossary = Glossary({"Acme Inc.": "Acme SARL", "etc.": "and so on"})
    assert [term.source for term in glossary.find("Acme Inc. sells pears, etc.")] == [
        "Acme Inc.", "etc.",
    ]  # fmt: skip
    assert not list(glossary.find("Acme Inc and et cetera"))


def test_a_word_costs_the_same_whatever_the_number_of_terms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n_keys, key = 0, glossary._key

    def counted(word: glossary._Word) -> str:
        nonlocal n_keys
        n_keys += 1
        return key(word)

    entries = {f"Big {kind} word{number}": "x" for kind in "abc" for number in range(1000)}
    cases = {"".join(letters): "y" for letters in product(*("hH",) * 10)}
    terms = Glossary(entries | cases)
    monkeypatch.setattr(glossary, "_key", counted)
    text = "big b word hHhHhHhHhH " * 100
    assert len(list(terms.find(text))) == 100
    assert n_keys <= 6 * 4 * 100
