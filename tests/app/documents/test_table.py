import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.documents.table import open_tabbed, open_table
from app.text.document import Answer
from tests.app.documents.answering import translated, unchanged, uppercased


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_cells_with_words_are_translated(delimiter: str) -> None:
    rows = [
        ["id", "The name", '"A ""good"" cat, and\na dog; or | two"'],
        ["1", "btn_ok", "3,5" if delimiter != "," else "3.5"],
        ["", "an apple", '""'],
    ]
    text = "\n".join(delimiter.join(row) for row in rows) + "\n"
    opened = open_table(text)
    assert opened.texts == ["id", "The name", 'A "good" cat, and', "a dog; or | two", "an apple"]
    assert unchanged(opened) == text
    assert uppercased(opened) == text.upper().replace("BTN_OK", "btn_ok")


PROSE = "id{0}text\n1{0}Well, my friend, are you tired, too?\n2{0}Yes, no, I do not know\n"


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_commas_of_sentences_do_not_delimit_cells(delimiter: str) -> None:
    opened = open_table(PROSE.format(delimiter))
    assert opened.texts[1:] == [
        "text", "Well, my friend, are you tired, too?", "Yes, no, I do not know",
    ]  # fmt: skip


def test_tabs_delimit_the_cells_of_tsv() -> None:
    text = "Some notes, first, second, third\n" + PROSE.format("\t")
    assert open_tabbed(text).texts[:3] == ["Some notes, first, second, third", "id", "text"]


def test_a_translation_is_quoted_if_it_needs_to_be() -> None:
    opened = open_table("a cat,b dog\n")
    assert translated(opened, lambda text: f"{text}, yes") == '"a cat, yes","b dog, yes"\n'
    assert translated(opened, lambda text: f'"{text}"') == '"""a cat""","""b dog"""\n'


@given(st.lists(st.lists(st.text("ab \",\n'"), min_size=2, max_size=2), min_size=1), st.text())
def test_the_cells_stay_those_of_a_reader_of_csv(rows: list[list[str]], word: str) -> None:
    target = io.StringIO()
    csv.writer(target, lineterminator="\n").writerows([["a a", "b b"], *rows])
    opened = open_table(target.getvalue())
    word = word.replace("\r", "").replace("\x00", "")
    written = opened.with_translations([Answer(word) for _ in opened.texts])
    read = list(csv.reader(io.StringIO(written, newline="")))
    assert [len(row) for row in read if row] == [2] * (len(rows) + 1)
