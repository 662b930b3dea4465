import tracemalloc

from app.text.linked_words import LinkedWords
from app.text.spans import Span
from app.text.word_links import WordLink

TEXT, TRANSLATION = "the red car", "la voiture rouge"
THE, RED, CAR = Span(0, 3), Span(4, 7), Span(8, 11)
LA, VOITURE, ROUGE = Span(0, 2), Span(3, 10), Span(11, 16)
LINKS = [
    WordLink(CAR, VOITURE),
    WordLink(RED, ROUGE),
    WordLink(THE, VOITURE),
    WordLink(THE, LA, is_guess=True),
    WordLink(CAR, Span(4, 10)),  # no word of the translation
]


def test_words_are_numbered_and_have_their_links_in_order() -> None:
    linked = LinkedWords(TEXT, TRANSLATION, LINKS)
    assert [linked.word(index) for index in range(len(linked))] == [LA, VOITURE, ROUGE]
    assert [list(linked.sources(index)) for index in range(3)] == [[], [CAR, THE], [RED]]


def test_guesses_are_found_by_a_part_of_the_text() -> None:
    linked = LinkedWords(TEXT, TRANSLATION, LINKS)
    assert list(linked.guessed(Span(0, 11))) == [0]
    assert list(linked.guessed(Span(2, 3))) == [0]
    assert not list(linked.guessed(Span(3, 11)))


def test_elements_without_words_are_placed_after_the_words_linked_to_those_before() -> None:
    points = LinkedWords(TEXT, TRANSLATION, LINKS).points(0, 3)
    assert [points.after(place, 7) for place in (2, 3, 6, 7, 11)] == [7, 2, 2, 3, 2]
    assert LinkedWords(TEXT, TRANSLATION, LINKS).points(2, 3).after(11, 7) == 3


def test_without_links_words_are_linked_by_their_relative_position() -> None:
    linked = LinkedWords("a b", "u v w x", None)
    found = [list(linked.sources(index)) for index in range(4)]
    assert found == [[Span(0, 1)], [Span(0, 1)], [Span(2, 3)], [Span(2, 3)]]
    assert not list(linked.guessed(Span(0, 3)))


def test_a_piece_of_markup_is_one_word() -> None:
    linked = LinkedWords("a", "\ue00012\ue001 b", [])
    assert [linked.word(index) for index in range(len(linked))] == [Span(0, 4), Span(5, 6)]


def test_either_text_may_be_without_words() -> None:
    for text, translation in (("", "a"), ("a", ""), ("", "")):
        for links in (None, list[WordLink]()):
            linked = LinkedWords(text, translation, links)
            assert len(linked) == len(translation)
            assert linked.points(0, len(linked)).after(0, 5) == 5
            assert not any(list(linked.sources(index)) for index in range(len(linked)))


def test_a_word_takes_few_bytes() -> None:
    n_words = 20_000
    tracemalloc.start()
    try:
        linked = LinkedWords("漢" * n_words, "字" * n_words, None)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(linked) == n_words
    assert most < 100 * n_words
