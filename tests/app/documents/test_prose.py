import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.documents.prose import Prose, is_code
from app.text.document import Answer
from tests.app.documents.answering import translated, unchanged, uppercased

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
    assert Prose(WRAPPED).texts == [" ".join(WRAPPED.split())]
    assert Prose(LIST).texts == [
        "Please send me a new machine, or else give me the money that was paid for it.",
        "  * Thank you.",
    ]


def test_their_translation_is_filled_again() -> None:
    def twice(text: str) -> str:
        return f"{text} {text}"

    lines = translated(Prose(WRAPPED), twice).splitlines()
    assert " ".join(lines) == twice(" ".join(WRAPPED.split()))
    width = max(map(len, WRAPPED.splitlines()))
    assert width - 10 < max(map(len, lines)) <= width
    first, second, *_ = uppercased(Prose(LIST)).splitlines()
    assert first.startswith("  * PLEASE")
    assert second.startswith("    THAT WAS")


def test_lines_that_were_not_filled_are_texts_of_their_own() -> None:
    address = "John Smith\n12 Main Street\n\nDear Sir,\n"
    assert Prose(address).texts == ["John Smith", "12 Main Street", "Dear Sir,"]
    sentences = "I came home late last night and I went to bed.\nNobody was there to see me.\n"
    assert Prose(sentences).texts == sentences.splitlines()


def test_a_line_stays_one_line_for_any_translation() -> None:
    assert translated(Prose("One\n\n2\nThree"), lambda _: "a\nb") == "a b\n\n2\na b"


@given(st.lists(st.text("ab .\t-*1\r", max_size=70) | st.just(WRAPPED), max_size=8))
def test_a_text_without_changes_is_identical(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert unchanged(Prose(text)) == text


@given(st.lists(st.text("ab .-*1", max_size=70), max_size=8))
def test_nothing_but_the_letters_changes(lines: list[str]) -> None:
    text = "\n".join(lines)
    written = Prose(text).with_translations([Answer(one.upper()) for one in Prose(text).texts])
    assert written.split() == text.upper().split()


@pytest.mark.parametrize(
    "text",
    ["btn_primary", "img/logo.png", "#ff00aa", "onClick", "v1.2", "text/html", "a@b", "$x", "x=y"],
)
def test_identifiers_are_code(text: str) -> None:
    assert is_code(text)
    assert is_code(f" {text} ")


@pytest.mark.parametrize(
    "text",
    ["", " ", "Save", "SAVE", "Enregistrer", "Well.", "e", "see img/logo.png", "onClick now"],
)
def test_words_and_sentences_are_not_code(text: str) -> None:
    assert not is_code(text)
