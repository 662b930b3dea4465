from __future__ import annotations

from app.text.document import Answer, Parts, PlainText


def test_parts_take_their_own_answers_and_strings_stay() -> None:
    inner = Parts(["(", PlainText("b"), PlainText("c"), ")"])
    parts = Parts([PlainText("a"), " - ", inner])
    assert parts.texts == ["a", "b", "c"]
    assert parts.tagged == [False, False, False]
    assert parts.with_translations([Answer("1"), Answer("2"), Answer("3")]) == "1 - (23)"
