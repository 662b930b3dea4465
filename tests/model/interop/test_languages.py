from __future__ import annotations

import pytest

from model.errors import CheckpointError
from model.interop.languages import NOT_GIVEN, Languages, directions

PLAIN = ["</s>", "<unk>", "a"]
SYMBOLS = ["</s>", ">>fra<<", ">>por_BR<<", "a"]


def test_each_source_with_each_target_but_itself() -> None:
    said = Languages(("en", "fr"), ("fr", "de", "fr"))
    pairs = [("en", "fr"), ("en", "de"), ("fr", "de")]
    assert directions("x", PLAIN, said) == (pairs, {})


def test_symbols_are_the_targets_unless_some_are_said() -> None:
    both = {"fr": ">>fra<<", "pt-BR": ">>por_BR<<"}
    assert directions("x", SYMBOLS, Languages(("en",))) == ([("en", "fr"), ("en", "pt-BR")], both)
    assert directions("x", SYMBOLS, Languages(("en",), ("fr",))) == (
        [("en", "fr")],
        {"fr": ">>fra<<"},
    )


@pytest.mark.parametrize(
    ("pieces", "said", "told"),
    [
        (PLAIN, NOT_GIVEN, "use `attend import marian --source`"),
        (PLAIN, Languages(("en",)), "use `attend import marian --target`"),
        (SYMBOLS, Languages(("en",), ("de",)), "no symbol for 'de'; there are: fr, pt-BR"),
        (PLAIN, Languages(("en",), ("en",)), "from en to itself is no translation"),
    ],
)
def test_what_makes_no_direction(pieces: list[str], said: Languages, told: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        directions("x", pieces, said)
    assert str(caught.value).startswith("x: ")
    assert told in str(caught.value)
