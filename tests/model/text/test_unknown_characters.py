from pathlib import Path

import pytest

from model.text.tokenizer import Tokenizer
from model.text.unknown_characters import MAX_REMEMBERED, UnknownCharacters
from tests.linear import assert_linear


@pytest.fixture(scope="module")
def codec(tiny_checkpoint: Path) -> Tokenizer:
    return Tokenizer.load(tiny_checkpoint / "sentencepiece.model")


def unknown(text: str, codec: Tokenizer) -> list[str]:
    return [text[start:end] for start, end in UnknownCharacters(codec).spans(text)]


def test_runs_of_characters_that_the_vocabulary_lacks(codec: Tokenizer) -> None:
    assert unknown("the 😀😎 cat 中", codec) == ["😀😎", "中"]
    assert unknown("The CAT", codec) == []  # known in lower case
    assert unknown("the\u3000ｃａｔ", codec) == []  # after normalisation
    assert unknown("a\ufffdb", codec) == []  # removed by normalisation


def test_known_characters_are_not_tokenised(
    codec: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    finder = UnknownCharacters(codec)
    list(finder.spans("the cat"))
    monkeypatch.setattr(codec, "tokenize", lambda _: pytest.fail("tokenised"))
    assert list(finder.spans("a chat eat the")) == []


def test_the_memory_of_characters_is_bounded(codec: Tokenizer) -> None:
    finder = UnknownCharacters(codec)
    for at in range(0x4E00, 0x4E00 + MAX_REMEMBERED + 3000, 1000):
        list(finder.spans("".join(map(chr, range(at, at + 1000)))))
    assert len(finder._known) + len(finder._unknown) <= MAX_REMEMBERED + 1000
    assert unknown("a 中", codec) == ["中"]


def test_time_is_linear_in_the_length(codec: Tokenizer) -> None:
    finder = UnknownCharacters(codec)
    assert len(list(finder.spans("a😀" * 20_000))) == 20_000
    assert_linear(lambda n: list(finder.spans("a😀" * n)), 20_000)
