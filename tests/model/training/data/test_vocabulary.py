from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from model.errors import TrainingError
from model.text.tokenizer import Tokenizer
from model.training.data.vocabulary import REQUIRED_CHARACTERS, train_tokenizer
from tests.model.training.toy import VOCABULARY, toy_pairs


def test_layout_of_ids(tokenizer: Tokenizer) -> None:
    assert tokenizer.vocab_size == VOCABULARY
    assert (tokenizer.eos_id, tokenizer.unk_id, tokenizer.pad_id) == (0, 1, VOCABULARY - 1)
    assert [tokenizer.language_id(language) for language in ("xx", "yy")] == [2, 3]


def test_required_characters_are_pieces_and_all_else_is_bytes(tokenizer: Tokenizer) -> None:
    # NFKC spells the ellipsis as three dots.
    for text in REQUIRED_CHARACTERS.replace("…", "") + "漢😀":
        ids = tokenizer.encode_batch([text])[0]
        assert tokenizer.unk_id not in ids
        assert tokenizer.decode(ids) == text


@pytest.mark.parametrize(
    ("vocab_size", "reason"),
    [(100_000, "too few distinct words"), (50, f"symbols alone are {VOCABULARY}")],
)
def test_a_vocabulary_that_cannot_be_learnt(tmp_path: Path, vocab_size: int, reason: str) -> None:
    sentences = itertools.chain.from_iterable(toy_pairs(300))
    with pytest.raises(TrainingError, match=f"vocab_size: cannot learn {vocab_size} .*{reason}"):
        train_tokenizer(sentences, ["xx", "yy"], vocab_size, tmp_path / "a.model")
    assert not (tmp_path / "a.model").exists()
