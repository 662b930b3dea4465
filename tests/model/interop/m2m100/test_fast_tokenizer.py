"""tokenizer.json has the same pieces as the SentencePiece model that it was made from."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model.errors import CheckpointError
from model.interop.m2m100.fast_tokenizer import sentencepiece_model
from model.interop.m2m100_reader import read_pieces
from model.text.sentence_pieces import SentencePieces
from tests.m2m100_folder import MakeMultilingual
from tests.marian_folder import SOURCE_WORDS, TARGET_WORDS, write_json


def texts() -> list[str]:
    """Return words, parts of words, and characters that are unknown or normalised."""
    choose = random.Random(4)
    words = [*f"{SOURCE_WORDS} {TARGET_WORDS} THE Zäh größer, été".split(), "☃", "ﬁ", "  ", "１９"]
    return [
        choose.choice((" ", "", "  ")).join(choose.choices(words, k=choose.randint(1, 9)))
        for _ in range(300)
    ]


def written(folder: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    return values


def both_tokenizers(folder: Path) -> tuple[SentencePieces, SentencePieces]:
    path = folder / "sentencepiece.bpe.model"
    content = sentencepiece_model(written(folder), "ours")
    return SentencePieces(content, "ours"), SentencePieces(path.read_bytes(), "theirs")


Change = Callable[[dict[str, Any]], object]


def change(folder: Path, how: Change) -> None:
    values = written(folder)
    how(values)
    write_json(folder / "tokenizer.json", values)


def to_older_format(values: dict[str, Any]) -> None:
    model = values["model"]
    model["merges"] = [
        " ".join(pair) for pair in model["merges"] if "".join(pair) != first_piece(values)
    ]
    values["normalizer"]["normalizers"].append({"type": "Strip"})
    values["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [values["pre_tokenizer"]]}


def first_piece(values: dict[str, Any]) -> str:
    """The first piece, whose merges older versions omit."""
    [found] = [piece for piece, index in values["model"]["vocab"].items() if index == 4]
    return str(found)


@pytest.mark.parametrize("how", [lambda _: None, to_older_format])
def test_pieces_and_spans_are_those_of_the_original(
    make_multilingual: MakeMultilingual, how: Change
) -> None:
    folder = make_multilingual(kind="nllb")
    change(folder, how)
    ours, theirs = both_tokenizers(folder)
    for text in texts():
        assert ours.split(text) == theirs.split(text)
        assert ours.join(ours.pieces(text)) == theirs.join(theirs.pieces(text))
    assert read_pieces(folder) == theirs.serialized


def set_model(**options: Any) -> Change:
    return lambda values: values["model"].update(options)


REFUSED: dict[str, tuple[Change, str]] = {
    "unigram": (set_model(type="Unigram", vocab=[["a", 0.5]]), "type 'Unigram'; copy"),
    "bytes": (set_model(byte_fallback=True), "byte_fallback = True; copy sentencepiece.bpe.model"),
    "word pieces": (set_model(continuing_subword_prefix="##"), "continuing_subword_prefix = '##'"),
    "lower case": (
        lambda values: values["normalizer"]["normalizers"].append({"type": "Lowercase"}),
        "Lowercase; copy",
    ),
    "another splitting": (
        lambda values: values.update(pre_tokenizer={"type": "ByteLevel"}), "ByteLevel; copy",
    ),
    "a missing merge": (
        lambda values: values["model"]["merges"].pop(), "merges that are not those of a Sentence",
    ),
    "another order": (
        lambda values: values["model"]["merges"].append(values["model"]["merges"][0]),
        "merges that are not those of a SentencePiece model",
    ),
    "a foreign merge": (
        lambda values: values["model"]["merges"].append(["q", "q"]), "merges that are not those",
    ),
    "ids": (
        lambda values: values["model"]["vocab"].update({first_piece(values): 5_000}),
        "ids of pieces",
    ),
    "no model": (lambda values: values.pop("model"), "not a tokenizer.json as `transformers`"),
    "a list": (set_model(vocab=[1, 2]), "not a tokenizer.json"),
    "no pairs": (set_model(merges=[["a", "b", "c"]]), "not a tokenizer.json"),
    "no base64": (
        lambda values: values["normalizer"]["normalizers"][0].update(precompiled_charsmap="é"),
        "not a tokenizer.json",
    ),
    "nothing added": (lambda values: values.update(added_tokens=7), "not a tokenizer.json"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_other_tokenisers_are_refused_with_the_reason(
    name: str, make_multilingual: MakeMultilingual
) -> None:
    how, reason = REFUSED[name]
    folder = make_multilingual(kind="nllb")
    change(folder, how)
    with pytest.raises(CheckpointError) as caught:
        sentencepiece_model(written(folder), "tokenizer.json")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
