from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.documents.prose import prose
from app.text.document import Answer
from tests.app.documents.answering import shouted, translated, unchanged

WRAPPED = """\
The machine that I bought last week in your shop does not work
any more, and nobody has answered the telephone since then, so
I write.
"""
LIST = """\
  * Please send me a new machine, or else give me the money
    that was paid for it.
  * Thank you.
"""


def test_lines_that_were_filled_are_one_text() -> None:
    assert prose(WRAPPED).texts == [" ".join(WRAPPED.split())]
    assert prose(LIST).texts == [
        "Please send me a new machine, or else give me the money that was paid for it.",
        "  * Thank you.",
    ]


def test_their_translation_is_filled_anew() -> None:
    def twice(text: str) -> str:
        return f"{text} {text}"

    lines = translated(prose(WRAPPED), twice).splitlines()
    assert " ".join(lines) == twice(" ".join(WRAPPED.split()))
    width = max(map(len, WRAPPED.splitlines()))
    assert width - 10 < max(map(len, lines)) <= width
    first, second, *_ = shouted(prose(LIST)).splitlines()
    assert first.startswith("  * PLEASE")
    assert second.startswith("    THAT WAS")


def test_lines_that_were_not_filled_are_texts_of_their_own() -> None:
    address = "John Smith\n12 Main Street\n\nDear Sir,\n"
    assert prose(address).texts == ["John Smith", "12 Main Street", "Dear Sir,"]
    sentences = "I came home late last night and I went to bed.\nNobody was there to see me.\n"
    assert prose(sentences).texts == sentences.splitlines()


def test_a_line_stays_one_whatever_the_model_says() -> None:
    assert translated(prose("One\n\n2\nThree"), lambda _: "a\nb") == "a b\n\n2\na b"


@given(st.lists(st.text("ab .\t-*1\r", max_size=70) | st.just(WRAPPED), max_size=8))
def test_a_text_comes_back_as_it_was(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert unchanged(prose(text)) == text


@given(st.lists(st.text("ab .-*1", max_size=70), max_size=8))
def test_nothing_but_the_letters_changes(lines: list[str]) -> None:
    text = "\n".join(lines)
    written = prose(text).with_translations([Answer(one.upper()) for one in prose(text).texts])
    assert written.split() == text.upper().split()
