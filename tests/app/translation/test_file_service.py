from __future__ import annotations

from app.translation.file_service import translated_name


def test_a_translation_is_called_after_its_language() -> None:
    assert translated_name("report.docx", "fr") == "report.fr.docx"
    assert translated_name("a.b.MD", "pt-BR") == "a.b.pt-BR.MD"
