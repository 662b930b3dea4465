from __future__ import annotations

from app.file_service import joined_links, translated_name
from app.spans import Span


def test_words_are_linked_by_way_of_the_word_between() -> None:
    le, chat, the, cat, katze = Span(0, 2), Span(3, 7), Span(0, 3), Span(4, 7), Span(4, 9)
    to_pivot = [(le, the), (chat, cat), (chat, the)]
    assert joined_links(to_pivot, [(cat, katze), (Span(8, 9), Span(0, 3))]) == [(chat, katze)]


def test_a_translation_is_called_after_its_language() -> None:
    assert translated_name("report.docx", "fr") == "report.fr.docx"
    assert translated_name("a.b.MD", "pt-BR") == "a.b.pt-BR.MD"
