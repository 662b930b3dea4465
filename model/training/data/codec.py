"""The interface of tokenisers whose models can be trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from model.text.text_codec import TextCodec


class TrainingCodec(TextCodec, Protocol):
    """Encodes many texts at a time, with the symbols before a source apart from its pieces.

    `Tokenizer` is one, and `MarianTokenizer`. M2M-100 and NLLB are not: their decoders are given
    the first token, and their encoders the source's language.
    """

    def source_symbols(self, target_language: str, tag: str = "") -> list[int]:
        """Return the ids that precede a source. Raises `LanguageError`."""

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of sources, without symbols."""

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of targets, without `</s>`."""
