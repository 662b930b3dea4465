"""The interface of tokenisers: text to ids and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Token:
    """A piece and its span: code points start … end of the given string.

    Control symbols, and a `▁` that SentencePiece inserts before the first word, have an empty
    span. Pieces that share a character both include it in their spans: the UTF-8 bytes of a
    character outside the vocabulary, or the letters of a ligature.
    """

    id: int
    piece: str
    start: int
    end: int


class TextCodec(Protocol):
    """Converts text to the ids that an encoder reads, and a decoder's ids to text.

    `model.text.tokenizer.Tokenizer` is one SentencePiece model for both sides, as attend trains;
    `model.text.marian_tokenizer.MarianTokenizer` is for Marian models, and
    `model.text.multilingual_tokenizer.MultilingualTokenizer` for M2M-100 and NLLB.
    """

    @property
    def source_vocab_size(self) -> int:
        """Number of ids that the encoder accepts."""

    @property
    def target_vocab_size(self) -> int:
        """Number of ids that the decoder may produce."""

    @property
    def pad_id(self) -> int:
        """The id of `<pad>`."""

    @property
    def eos_id(self) -> int:
        """The id of the end-of-sentence token `</s>`."""

    @property
    def n_control_tokens(self) -> int:
        """Number of tokens that `encode_source` adds to every text."""

    @property
    def files(self) -> Mapping[str, bytes]:
        """File name → content: the codec's files in a checkpoint."""

    def can_translate_to(self, language: str) -> bool:
        """Whether `encode_source` accepts it as a target."""

    def first_id(self, target_language: str) -> int | None:
        """The token that every translation to a language begins with, see `SearchOptions.first_id`.

        Raises `LanguageError`.
        """

    def encode_source(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[Token]:
        """Return the encoder's input. Raises `LanguageError`.

        M2M-100 and NLLB read the source's language, so there it must be given.
        """

    def source_ids(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[int]:
        """Return the ids of `encode_source` without spans, which is much faster."""

    def encode_target(self, text: str, target_language: str | None = None) -> list[Token]:
        """Return the decoder output that corresponds to a given translation.

        It begins with the `first_id` of the language, if that is given.
        """

    def tokenize(self, text: str) -> list[Token]:
        """Return only the pieces of a source text."""

    def decode(self, ids: Sequence[int]) -> str:
        """Convert decoder output to text, without control symbols.

        Bytes that form no character and `<unk>` are left out, so that no text has U+FFFD in their
        place. The text of a prefix of the ids is a prefix of the whole text.
        """

    def decode_target(self, ids: Sequence[int]) -> tuple[str, list[Token]]:
        """Convert decoder output to text and its tokens, with their spans in that text."""

    def is_unknown(self, token_id: int) -> bool:
        """Whether a source id is of a character outside the vocabulary: `<unk>`, or a byte."""

    def has_unknown(self, ids: Sequence[int]) -> bool:
        """Whether any of the source ids is."""

    def piece(self, token_id: int) -> str:
        """Return the piece of a target id; `▁` marks the start of a word."""
