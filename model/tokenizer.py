"""SentencePiece (Kudo & Richardson 2018): text to ids and back, with the place of every piece."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import sentencepiece

from model.errors import LanguageError, TokenizerError

_SURROGATE = re.compile("[\ud800-\udfff]")
_WORD_START = "▁"
_LANGUAGE_PREFIX, _LANGUAGE_SUFFIX = "<2", ">"


def language_token(language: str) -> str:
    """The control symbol that asks for a target language, `<2fr>` for `fr` (Johnson et al. 2017)."""
    return f"{_LANGUAGE_PREFIX}{language}{_LANGUAGE_SUFFIX}"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece and its place: code points start … end of the string as it was given.

    Control symbols stand for no text and have an empty span. Pieces made from one character, such
    as the UTF-8 bytes of one that is not in the vocabulary, share that character's span.
    """

    id: int
    piece: str
    start: int
    end: int


class Tokenizer:
    """One SentencePiece model for both sides, with a control symbol per target language.

    Raises `TokenizerError` if the model cannot be read or lacks `<pad>`, `</s>` or every language.
    """

    def __init__(self, serialized: bytes, origin: str = "SentencePiece model") -> None:
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(serialized)
        except RuntimeError:
            raise TokenizerError(f"{origin}: not a SentencePiece model") from None
        self.serialized = serialized
        self.vocab_size: int = self._processor.vocab_size()
        self.pad_id: int = self._processor.pad_id()
        self.eos_id: int = self._processor.eos_id()
        self.unk_id: int = self._processor.unk_id()
        for name, special in (("<pad>", self.pad_id), ("</s>", self.eos_id)):
            if special < 0:
                raise TokenizerError(f"{origin}: has no {name} piece")
        self._language_ids = {
            piece.removeprefix(_LANGUAGE_PREFIX).removesuffix(_LANGUAGE_SUFFIX): index
            for index in range(self.vocab_size)
            if self._processor.is_control(index)
            and (piece := self._processor.id_to_piece(index)).startswith(_LANGUAGE_PREFIX)
        }
        if not self._language_ids:
            raise TokenizerError(f"{origin}: has no target-language symbol such as <2fr>")

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """Read a `.model` file. Raises `TokenizerError`."""
        try:
            serialized = path.read_bytes()
        except OSError as error:
            raise TokenizerError(f"{path}: {error.strerror or error}") from None
        return cls(serialized, str(path))

    @property
    def languages(self) -> list[str]:
        """Target languages, in the order of their ids."""
        return list(self._language_ids)

    def language_id(self, language: str) -> int:
        """The control symbol for a target language. Raises `LanguageError`."""
        try:
            return self._language_ids[language]
        except KeyError:
            known = ", ".join(self._language_ids)
            raise LanguageError(f"no target language '{language}'; there are: {known}") from None

    def encode_source(self, text: str, target_language: str) -> list[Token]:
        """`<2xx>`, the pieces of `text`, `</s>`: what the encoder reads."""
        return [
            self._control(self.language_id(target_language), 0),
            *self.tokenize(text),
            self._control(self.eos_id, len(text)),
        ]

    def encode_target(self, text: str) -> list[Token]:
        """The pieces of `text` and `</s>`: what the decoder is to produce."""
        return [*self.tokenize(text), self._control(self.eos_id, len(text))]

    def tokenize(self, text: str) -> list[Token]:
        """The pieces of `text` alone. Text that looks like a control symbol stays text.

        A lone surrogate, which no UTF-8 can hold, is read as U+FFFD; offsets are unaffected.
        """
        encodable = _SURROGATE.sub("\ufffd", text)
        mapping = self._processor.encode(encodable, return_type="offset_mapping")
        tokens: list[Token] = []
        # From the back: where one character became several pieces (its bytes, or "…" three dots),
        # SentencePiece gives its span to the last of them only.
        for token_id, piece, span in zip(
            *(reversed(mapping[key]) for key in ("ids", "pieces", "offsets")), strict=True
        ):
            start, end = span
            if start == end and tokens and piece != _WORD_START:
                start, end = tokens[-1].start, tokens[-1].end
            tokens.append(Token(token_id, piece, start, end))
        tokens.reverse()
        return tokens

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of the pieces alone, for training data."""
        ids: list[list[int]] = self._processor.encode(list(texts))
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Ids to text; control symbols vanish, byte pieces become their characters."""
        text: str = self._processor.decode(list(ids))
        return text

    def piece(self, token_id: int) -> str:
        """The piece of an id, `▁` marking a word's start."""
        piece: str = self._processor.id_to_piece(token_id)
        return piece

    def _control(self, token_id: int, position: int) -> Token:
        return Token(token_id, self.piece(token_id), position, position)
