from pathlib import Path

import pytest

from model.errors import CheckpointError
from model.interop.languages import CARD_FILE, NOT_GIVEN, Languages, directions, languages_of_card
from tests.cases import cases

PLAIN = ["</s>", "<unk>", "a"]
SYMBOLS = ["</s>", ">>fra<<", ">>por_BR<<", "a"]


def test_each_source_with_each_target_but_itself() -> None:
    given = Languages(("en", "fr"), ("fr", "de", "fr"))
    pairs = [("en", "fr"), ("en", "de"), ("fr", "de")]
    assert directions("x", PLAIN, given) == (pairs, {})


def test_symbols_are_the_default_targets() -> None:
    both = {"fr": ">>fra<<", "pt-BR": ">>por_BR<<"}
    assert directions("x", SYMBOLS, Languages(("en",))) == ([("en", "fr"), ("en", "pt-BR")], both)
    assert directions("x", SYMBOLS, Languages(("en",), ("fr",))) == (
        [("en", "fr")],
        {"fr": ">>fra<<"},
    )


@pytest.mark.parametrize(
    ("pieces", "given", "message"),
    [
        (PLAIN, NOT_GIVEN, "use `attend import marian --source`"),
        (PLAIN, Languages(("en",)), "use `attend import marian --target`"),
        (SYMBOLS, Languages(("en",), ("de",)), "no symbol for 'de'; there are: fr, pt-BR"),
        (PLAIN, Languages(("en",), ("en",)), "from en to itself is no translation"),
    ],
)
def test_languages_need_a_direction(pieces: list[str], given: Languages, message: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        directions("x", pieces, given)
    assert str(caught.value).startswith("x: ")
    assert message in str(caught.value)


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
