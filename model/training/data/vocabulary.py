"""Learns the SentencePiece vocabulary that both languages share: unigram (Kudo 2018) or BPE."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import sentencepiece

from model.errors import TrainingError
from model.text.tokenizer import language_token, tag_token

REQUIRED_CHARACTERS = "{}<>[]()$%@#&*_/\\|=+-~^`\"'«»“”‘’…–—€£°0123456789"
"""Characters of placeholders, URLs and typography: rare in corpora, common in real requests."""


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
    Characters outside the vocabulary fall back to their UTF-8 bytes. Raises `TrainingError`.
    """
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=model,
            model_type=kind,
            vocab_size=vocab_size,
            character_coverage=0.9999,
            byte_fallback=True,
            split_digits=True,
            normalization_rule_name="nmt_nfkc",
            required_chars=REQUIRED_CHARACTERS,
            control_symbols=[*map(language_token, languages), *map(tag_token, tags)],
            eos_id=0,
            unk_id=1,
            bos_id=-1,
            pad_id=vocab_size - 1,
            max_sentence_length=16_384,
            minloglevel=1,
        )
    except (RuntimeError, ValueError) as error:
        raise TrainingError(
            f"tokenizer.vocab_size: cannot learn {vocab_size} pieces: {_reason(str(error))}"
        ) from None
    destination.write_bytes(model.getvalue())


def _reason(message: str) -> str:
    """Explain SentencePiece's error, whose own message refers to its source code."""
    if smallest := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return f"characters, bytes and symbols alone are {smallest[1]}"
    if "pieces_size()" in message or "too high" in message:
        return "the corpora have too few distinct words"
    return message.strip().splitlines()[-1]
