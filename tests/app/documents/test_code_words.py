from __future__ import annotations

import pytest

from app.documents.code_words import is_code


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
def test_words_and_sentences_are_not(text: str) -> None:
    assert not is_code(text)
