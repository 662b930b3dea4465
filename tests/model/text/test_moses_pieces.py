"""Moses's rules and merges of byte pairs, as argostranslate and subword-nmt apply them."""

import json
import sys
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import CheckpointError
from model.text.marian_tokenizer import MarianTokenizer
from model.text.moses_pieces import BPE_FILE, MosesPieces, named_piece

LANGUAGES = ("en", "fr")
CODES = b"#version: 0.2\nl o\nlo w</w>\ne r</w>\nlo w\nn e\nne w\n"


@cache
def english_pieces() -> MosesPieces:
    return MosesPieces(CODES, LANGUAGES, "here")


@pytest.fixture
def english() -> MosesPieces:
    pytest.importorskip("sacremoses")
    return english_pieces()


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("low", "low▁"),
        ("lower", "low er▁"),
        ("newlow", "new low▁"),
        ("lolo", "lo l o▁"),  # the last o ends the word, so it is another symbol
        ("x", "x▁"),
        ("", ""),
    ],
)
def test_merges_by_hand(word: str, pieces: str, english: MosesPieces) -> None:
    assert english.pieces(word) == pieces.split()


def test_the_older_version_ends_words_with_a_symbol() -> None:
    pytest.importorskip("sacremoses")
    older = MosesPieces(b"l o\nlo w\nlow </w>\na a\na a\n", LANGUAGES, "here")
    assert older.pieces("low slow aaa x") == ["low▁", "s", "low▁", "aa", "a▁", "x▁"]


def test_words_are_escaped_and_have_spans(english: MosesPieces) -> None:
    text = "He said: “low & lower”… (isn't it?)"
    pieces = english.split(text)
    assert [piece.piece for piece in pieces] == english.pieces(text)
    whole = [(piece.piece, text[piece.start : piece.end]) for piece in pieces]
    assert "".join(piece for piece, part in whole if part == "“") == "&quot;▁"
    assert "".join(piece for piece, part in whole if part == "'t") == "&apos;t▁"
    assert ("er▁", "er") in whole
    assert whole[-2:] == [("?▁", "?"), (")▁", ")")]


def test_texts_are_joined_by_the_targets_rules(english: MosesPieces) -> None:
    pieces = ["l", "&apos;▁", "new", "low▁", ",▁", "&quot;▁", "low", "er▁", "&quot;▁", "!▁"]
    text, spans = english.join(pieces)
    assert text == 'l\'newlow, "lower" !'
    assert [text[start:end] for start, end in spans] == [
        "l'", "l'", "new", "low", ",", '"', "low", "er", '"', "!",
    ]  # fmt: skip


def test_the_text_of_a_prefix_is_a_prefix(english: MosesPieces) -> None:
    pieces = ["l", "ow▁", "&", "ap", "os;▁", "lo", "w▁", "@", "-", "@▁", "er▁", "?▁"]
    whole = english.join(pieces)[0]
    for n in range(len(pieces)):
        assert whole.startswith(english.join(pieces[:n])[0]), n


def test_czech_words_on_which_sacremoses_fails() -> None:
    pytest.importorskip("sacremoses")
    czech = MosesPieces(CODES, ("en", "cs"), "here")
    assert czech.join(["a&apos;▁", "-▁", "li▁", "x▁"])[0] == "a' - li x"


@given(text=st.text(max_size=60))
def test_spans_are_in_order_and_within_the_text(text: str) -> None:
    pytest.importorskip("sacremoses")
    splitter = english_pieces()
    pieces = splitter.split(text)
    joined, spans = splitter.join(splitter.pieces(text))
    for length, found in ((len(text), [piece[2:] for piece in pieces]), (len(joined), spans)):
        assert found == sorted(found)
        assert all(0 <= start <= end <= length for start, end in found)


def test_long_texts_take_linear_time(english: MosesPieces) -> None:
    for text in ("." * 20_000, "low" * 7_000, " " * 100_000, '."' * 10_000, "a " * 10_000):
        assert "".join(english.pieces(text)).count("▁") <= len(text) + 1


DAMAGED = {
    b"\xff": "bpe.model: not UTF-8",
    b"#version: 0.3\na b\n": "bpe.model: version 0.3, not 0.1 or 0.2",
    b"#version: 0.2\na b\na b c\n": "bpe.model: line 3 is not two pieces",
    b"\xef\xbb\xbf#version: 0.2 x\na b\n": "bpe.model: line 1 is not two pieces",
    b"": "bpe.model: line 1 is not two pieces",
}


@pytest.mark.parametrize("codes", DAMAGED)
def test_damaged_codes_are_refused(codes: bytes) -> None:
    pytest.importorskip("sacremoses")
    with pytest.raises(CheckpointError, match=DAMAGED[codes]):
        MosesPieces(codes, LANGUAGES, "here")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(CheckpointError, match=r"here: .*: pip install 'sacremoses>=0\.2'$"):
        MosesPieces(CODES, LANGUAGES, "here")


def test_a_codec_reads_and_writes_them() -> None:
    pytest.importorskip("sacremoses")
    tokens = ["low", "low@@", "er", "new@@", "&quot;", "."]
    listed = ["</s>", "<unk>", *map(named_piece, tokens), "<pad>"]
    files: dict[str, Any] = {
        BPE_FILE: CODES,
        "vocab.json": json.dumps({piece: index for index, piece in enumerate(listed)}).encode(),
    }
    codec = MarianTokenizer(files, {}, "here", moses=LANGUAGES)
    assert codec.source_ids("newlow lower.", "fr") == [5, 2, 3, 4, 7, 0]
    assert codec.decode([5, 2, 3, 4, 7, 0]) == "newlow lower."
    assert codec.encode_source("Ω", "fr")[0].id == 1
