from __future__ import annotations

from app.text.inline_tags import WordLink, joined_links
from app.text.spans import Span


def test_words_are_linked_by_way_of_the_word_between() -> None:
    le, chat, the, cat, katze = Span(0, 2), Span(3, 7), Span(0, 3), Span(4, 7), Span(4, 9)
    to_pivot = [WordLink(le, the), WordLink(chat, cat), WordLink(chat, the)]
    onwards = [WordLink(cat, katze), WordLink(Span(8, 9), Span(0, 3))]
    assert joined_links(to_pivot, onwards) == [WordLink(chat, katze)]


def test_what_goes_by_a_guess_is_a_guess() -> None:
    chat, cat, katze = Span(3, 7), Span(4, 7), Span(4, 9)
    for guesses in ((False, True), (True, False), (True, True)):
        there, onwards = WordLink(chat, cat, guesses[0]), WordLink(cat, katze, guesses[1])
        assert joined_links([there], [onwards]) == [WordLink(chat, katze, is_guess=True)]
