"""The interface of tokenisers: text to ids and back."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class Token(NamedTuple):
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

    n_control_tokens  tokens that `encode_source` adds to every text
    files             file name → content: the codec's files in a checkpoint
    """

    source_vocab_size: int
    target_vocab_size: int
    pad_id: int
    eos_id: int
    n_control_tokens: int
    files: Mapping[str, bytes]

    def can_translate_to(self, language: str) -> bool:
        """Whether `encode_source` accepts it as a target."""

    def first_id(self, target_language: str) -> int | None:
        """Return the first token of every translation, see `SearchOptions.first_id`; None if the
        decoder chooses it. Raises `LanguageError`."""

    def encode_source(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[Token]:
        """Return the encoder's input. M2M-100 and NLLB need the source's language. Raises
        `LanguageError`."""

    def source_ids(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[int]:
        """Return the ids of `encode_source` without spans, which is much faster."""

    def encode_target(self, text: str, target_language: str | None = None) -> list[Token]:
        """Return the decoder output of a translation, with the `first_id` of a given language."""

    def tokenize(self, text: str) -> list[Token]:
        """Return the pieces of a source text, without control symbols."""

    def decode(self, ids: Sequence[int]) -> str:
        """Convert decoder output to text, without control symbols, `<unk>` and incomplete bytes.

        The text of a prefix of the ids is a prefix of the whole text.
        """

    def decode_target(self, ids: Sequence[int]) -> tuple[str, list[Token]]:
        """Convert decoder output to text and its tokens, with their spans in that text."""

    def is_unknown(self, token_id: int) -> bool:
        """Whether a source id is `<unk>` or a byte: from a character outside the vocabulary."""

    def has_unknown(self, ids: Sequence[int]) -> bool:
        """Whether any of the source ids is unknown."""

    def piece(self, token_id: int) -> str:
        """Return the piece of a target id; `▁` marks the start of a word (Moses: its end)."""


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
