from pathlib import Path

import pytest

from model.interop.languages import CARD_FILE, languages_of_card
from tests.cases import cases


@pytest.mark.parametrize(
    ("card", "languages"),
    cases(__file__, "languages_of_a_model_card"),
)
def test_languages_of_a_model_card(tmp_path: Path, card: str, languages: list[str]) -> None:
    (tmp_path / CARD_FILE).write_text(card, "utf-8")
    assert languages_of_card(tmp_path) == languages


def test_without_a_card_none_are_named(tmp_path: Path) -> None:
    assert languages_of_card(tmp_path) == []
    (tmp_path / CARD_FILE).write_bytes(b"---\nlanguage: \xff\n---\n")
    assert languages_of_card(tmp_path) == []
