from collections.abc import Iterator
from itertools import islice

import pytest

from app.errors import UnreadableFileError
from app.text import document
from app.text.document import Answer, Document, Parts, PlainText


def test_parts_take_their_own_answers_and_strings_stay() -> None:
    inner = Parts(["(", PlainText("b"), PlainText("c"), ")"])
    parts = Parts([PlainText("a"), " - ", inner])
    assert parts.texts == ["a", "b", "c"]
    assert parts.tagged == [False, False, False]
    assert parts.with_translations([Answer("1"), Answer("2"), Answer("3")]) == "1 - (23)"


def test_no_more_documents_are_read_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_DOCUMENTS", 3)
    read: list[int] = []

    def parts() -> Iterator[str | Document]:
        for number in range(10):
            read.append(number)
            yield "a string"
            yield PlainText(str(number))

    assert Parts(list(islice(parts(), 6))).texts == ["0", "1", "2"]
    read.clear()
    with pytest.raises(UnreadableFileError, match="3 paragraphs, cells or lines"):
        Parts(parts())
    assert read == [0, 1, 2, 3]
