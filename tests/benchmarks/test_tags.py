from __future__ import annotations

import pytest

from app.text.document import Answer
from app.text.spans import Span
from app.text.word_links import WordLink
from benchmarks.tags import Landing, landing, linked_words, row
from model.alignment.gold import GoldAlignment

TEXT, TRANSLATION = "the red car", "la voiture rouge"
RED, VOITURE, ROUGE = Span(4, 7), Span(3, 10), Span(11, 16)


@pytest.mark.parametrize(
    ("links", "gold", "wanted"),
    [
        ([(RED, ROUGE)], "1-2", Landing(right=True, exact=True, empty=False)),
        ([(RED, ROUGE)], "1p2", Landing(right=True, exact=True, empty=False)),
        ([(RED, VOITURE)], "1-2", Landing(right=False, exact=False, empty=False)),
        ([(RED, VOITURE), (RED, ROUGE)], "1-2", Landing(right=True, exact=False, empty=False)),
        ([(RED, VOITURE), (RED, ROUGE)], "1-2 1p1", Landing(right=True, exact=True, empty=False)),
        ([], "1-2", Landing(right=False, exact=False, empty=True)),
    ],
)
def test_tags_are_right_where_the_gold_has_a_link(
    links: list[tuple[Span, Span]], gold: str, wanted: Landing
) -> None:
    answer = Answer(TRANSLATION, [WordLink(*link) for link in links])
    assert landing(TEXT, RED, answer, GoldAlignment.parse(gold)) == wanted


def test_words_of_letters_that_have_a_link_are_tried() -> None:
    assert linked_words("the 42 red car", GoldAlignment.parse("1-1 2-2 3p0")) == [
        Span(7, 10), Span(11, 14),
    ]  # fmt: skip


def test_a_row_has_shares() -> None:
    one, other = Landing(True, True, False), Landing(False, False, True)
    assert row(("en", "fr"), [one, other, other, other]) == {
        "Direction": "en → fr", "Words": 4, "Right": 0.25, "Exact": 0.25, "Empty": 0.75,
    }  # fmt: skip
