"""Learns the SentencePiece vocabulary that both languages share: unigram (Kudo 2018) or BPE."""

import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import sentencepiece
from pydantic import Field

from model.errors import TrainingError
from model.text.tokenizer import language_token, tag_token
from model.training.data.corpus import DataTable

REQUIRED_CHARACTERS = "{}<>[]()$%@#&*_/\\|=+-~^`\"'«»“”‘’…–—€£°0123456789"
"""Characters of placeholders, URLs and typography: rare in corpora, common in real requests."""


SMALLEST_VOCABULARY = 512
"""Enough for 256 bytes, the required characters and some pieces."""


class TokenizerConfig(DataTable):
    """The vocabulary of the run: learnt at its start, or given."""

    vocab_size: int = Field(
        0,
        ge=0,
        description="number of pieces; 0: the preset's (base 37,000, small 8,000, tiny 512)",
    )
    kind: Literal["unigram", "bpe"] = Field(
        "unigram", description="unigram language model or byte-pair encoding"
    )
    sentences: int = Field(
        500_000, gt=0, description="number of pairs, from the start of each corpus, to learn from"
    )
    file: Path | None = Field(
        None, description="SentencePiece model of an earlier run to use instead of learning one"
    )
    sampling: float = Field(
        0.0,
        ge=0,
        le=1,
        description="subword regularisation: unigram's smoothing, bpe's dropout; 0: none",
    )


def train_tokenizer(
    sentences: Iterable[str],
    languages: list[str],
    vocab_size: int,
    destination: Path,
    *,
    kind: str = "unigram",
    tags: Sequence[str] = (),
) -> None:
    """Write a SentencePiece model of exactly `vocab_size` pieces to `destination`.

    Ids follow Marian: 0 `</s>`, 1 `<unk>`, then a control symbol per target language and tag, and
    `<pad>` last. Control symbols are never matched in text, so typing one is harmless.
    Characters outside the vocabulary fall back to their UTF-8 bytes. Raises `TrainingError`, which
    names the largest or smallest possible size if another one would do.
    """
    texts = list(sentences)
    symbols = [*map(language_token, languages), *map(tag_token, tags)]
    try:
        serialized = _learn(texts, kind, symbols, vocab_size, pad_id=vocab_size - 1)
    except (RuntimeError, ValueError) as error:
        reason = _reason(str(error)) or _largest(texts, kind, symbols, vocab_size)
        raise TrainingError(
            f"tokenizer.vocab_size: cannot learn {vocab_size} pieces: {reason}"
        ) from None
    destination.write_bytes(serialized)


def _learn(
    texts: Sequence[str], kind: str, symbols: Sequence[str], vocab_size: int, pad_id: int
) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        model_type=kind,
        vocab_size=vocab_size,
        character_coverage=0.9999,
        byte_fallback=True,
        split_digits=True,
        normalization_rule_name="nmt_nfkc",
        required_chars=REQUIRED_CHARACTERS,
        control_symbols=symbols,
        eos_id=0,
        unk_id=1,
        bos_id=-1,
        pad_id=pad_id,
        max_sentence_length=16_384,
        minloglevel=1,
    )
    return model.getvalue()


def _reason(message: str) -> str:
    """Explain SentencePiece's error, whose own message refers to its source code.

    Empty if the corpora yield too few pieces.
    """
    if smallest := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return f"characters, bytes and symbols alone are {smallest[1]}"
    return "" if "pieces_size()" in message else message.strip().splitlines()[-1]


def _largest(texts: Sequence[str], kind: str, symbols: Sequence[str], vocab_size: int) -> str:
    """Learn once more without `<pad>`: only then does SentencePiece say how many it finds."""
    try:
        _learn(texts, kind, symbols, vocab_size, pad_id=-1)
    except (RuntimeError, ValueError) as error:
        if found := re.search(r"a value <= (\d+)", str(error)):
            largest = int(found[1]) + len(["<pad>"])
            return f"the corpora yield {largest} at most"
    return "the corpora have too few distinct words"
