import itertools
import re
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
    [(100_000, "the corpora yield 887 at most"), (50, f"symbols alone are {VOCABULARY}")],
)
def test_a_vocabulary_that_cannot_be_learnt(tmp_path: Path, vocab_size: int, reason: str) -> None:
    sentences = itertools.chain.from_iterable(toy_pairs(300))
    with pytest.raises(TrainingError, match=f"vocab_size: cannot learn {vocab_size} .*{reason}"):
        train_tokenizer(sentences, ["xx", "yy"], vocab_size, tmp_path / "a.model")
    assert not (tmp_path / "a.model").exists()


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_the_largest_size_that_an_error_names_works(tmp_path: Path, kind: str) -> None:
    sentences = [" ".join(pair) for pair in toy_pairs(300, longest=5)] * 2
    path = tmp_path / "a.model"
    with pytest.raises(TrainingError) as raised:
        train_tokenizer(sentences, ["xx"], 37_000, path, kind=kind, tags=["bt"])
    found = re.search(r"yield (\d+) at most", str(raised.value))
    assert found
    largest = int(found[1])
    assert VOCABULARY < largest < 37_000
    train_tokenizer(sentences, ["xx"], largest, path, kind=kind, tags=["bt"])
    assert Tokenizer.load(path).vocab_size == largest
    with pytest.raises(TrainingError, match=f"yield {largest} at most"):
        train_tokenizer(sentences, ["xx"], largest + 1, path, kind=kind, tags=["bt"])
