import pytest

from model.errors import CheckpointError
from model.interop.languages import NOT_GIVEN, Languages, directions

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
