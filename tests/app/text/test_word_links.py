import tracemalloc
from random import Random

import pytest

from app.text.spans import Span
from app.text.word_links import WordLink, WordLinks, joined_links

LE, CHAT, THE, CAT, KATZE = Span(0, 2), Span(3, 7), Span(0, 3), Span(4, 7), Span(4, 9)


def test_links_are_a_sequence() -> None:
    chooser = Random(1)
    links = [
        WordLink(
            Span(*sorted(chooser.sample(range(2**32 - 1), 2))),
            Span(*sorted(chooser.sample(range(1000), 2))),
            chooser.random() < 0.3,
        )
        for _ in range(20)
    ]
    kept = WordLinks(links)
    assert len(kept) == len(links)
    assert list(kept) == links
    assert kept == links
    assert kept != links[1:]
    assert (kept[0], kept[-1], kept[3:9:2]) == (links[0], links[-1], links[3:9:2])
    with pytest.raises(IndexError):
        kept[len(links)]
    for guesses in (False, True):
        expected = [[*one.source, *one.target] for one in links if one.is_guess == guesses]
        assert kept.bounds(guesses=guesses).tolist() == expected


def test_no_links_have_bounds_too() -> None:
    assert WordLinks().bounds(guesses=True).shape == (0, 4)


def test_a_link_takes_few_bytes() -> None:
    n_links = 20_000
    tracemalloc.start()
    try:
        links = WordLinks(WordLink(Span(n, n + 1), Span(n, n + 1)) for n in range(n_links))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(links) == n_links
    assert taken < 25 * n_links


def test_a_link_is_shifted_on_both_sides() -> None:
    shifted = WordLink(CHAT, CAT, is_guess=True).shifted(10, 20)
    assert shifted == WordLink(Span(13, 17), Span(24, 27), is_guess=True)


def test_words_are_linked_by_way_of_the_word_between() -> None:
    to_pivot = [WordLink(LE, THE), WordLink(CHAT, CAT), WordLink(CHAT, THE)]
    onwards = [WordLink(CAT, KATZE), WordLink(Span(8, 9), Span(0, 3))]
    assert joined_links(to_pivot, onwards) == [WordLink(CHAT, KATZE)]


def test_a_link_through_a_guess_is_a_guess() -> None:
    for guesses in ((False, True), (True, False), (True, True)):
        there, onwards = WordLink(CHAT, CAT, guesses[0]), WordLink(CAT, KATZE, guesses[1])
        assert joined_links([there], [onwards]) == [WordLink(CHAT, KATZE, is_guess=True)]
