"""The seam between text and ids: what serving needs of a tokeniser, whatever it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Token:
    """A piece and its place: code points start … end of the string as it was given.

    Control symbols, and a `▁` that SentencePiece puts before the first word, stand for no text and
    have an empty span. Pieces that share a character have it in both their spans: the UTF-8 bytes
    of one that is not in the vocabulary, or the letters of a ligature.
    """

    id: int
    piece: str
    start: int
    end: int


class TextCodec(Protocol):
    """Text to the ids that an encoder reads, and the ids that a decoder produced to text.

    `model.text.tokenizer.Tokenizer` is one SentencePiece model for both sides, what attend trains;
    `model.text.marian_tokenizer.MarianTokenizer` is what Marian models bring.
    """

    @property
    def source_vocab_size(self) -> int:
        """Ids that the encoder may be given."""

    @property
    def target_vocab_size(self) -> int:
        """Ids that the decoder may produce."""

    @property
    def pad_id(self) -> int:
        """Of `<pad>`."""

    @property
    def eos_id(self) -> int:
        """Of the end-of-sentence token `</s>`."""

    @property
    def n_control_tokens(self) -> int:
        """Tokens that `encode_source` puts around every text."""

    @property
    def files(self) -> Mapping[str, bytes]:
        """File name → content: what a checkpoint holds of it."""

    def can_translate_to(self, language: str) -> bool:
        """Whether `encode_source` takes it for a target."""

    def encode_source(self, text: str, target_language: str) -> list[Token]:
        """What the encoder reads. Raises `LanguageError`."""

    def source_ids(self, text: str, target_language: str) -> list[int]:
        """The ids of `encode_source`, which without their places cost a fraction."""

    def encode_target(self, text: str) -> list[Token]:
        """What the decoder is to produce of a translation that is given."""

    def tokenize(self, text: str) -> list[Token]:
        """The pieces of a source text alone."""

    def decode(self, ids: Sequence[int]) -> str:
        """What the decoder produced as text; control symbols vanish.

        Of more ids the text begins with that of fewer, but for U+FFFD at the end of the latter,
        which stand for a character whose bytes are not all there.
        """

    def decode_target(self, ids: Sequence[int]) -> tuple[str, list[Token]]:
        """The text of what the decoder produced, and its pieces with their places in that text."""

    def is_unknown(self, token_id: int) -> bool:
        """Whether a source id stands for a character that is no piece: `<unk>`, or a byte."""

    def piece(self, token_id: int) -> str:
        """The piece of an id that the decoder produced, `▁` marking a word's start."""
