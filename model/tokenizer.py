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
    """The control symbol that asks for a target language: `<2fr>` (Johnson et al. 2017)."""
    return f"{_LANGUAGE_PREFIX}{language}{_LANGUAGE_SUFFIX}"


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
        spans = self._byte_spans(encodable)
        tokens: list[Token] = []
        first = 0
        for token_id, piece in zip(mapping["ids"], mapping["pieces"], strict=True):
            n_bytes = 1 if self._processor.is_byte(token_id) else len(piece.encode())
            covered = spans[first : first + n_bytes]
            tokens.append(Token(token_id, piece, covered[0][0], covered[-1][1]))
            first += n_bytes
        return tokens

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of the pieces alone, for training data."""
        ids: list[list[int]] = self._processor.encode(list(texts))
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Ids to text; control symbols vanish, byte pieces become their characters."""
        text: str = self._processor.decode(list(ids))
        return text

    def decode_target(self, ids: Sequence[int]) -> tuple[str, list[Token]]:
        """The text of what the decoder produced, and its pieces with their places in that text.

        A control symbol has an empty span; the bytes of one character share its span.
        """
        mapping = self._processor.decode(list(ids), return_type="offset_mapping")
        tokens: list[Token] = []
        # From the back, since SentencePiece gives a character's span to the last of its bytes.
        for token_id, span in zip(reversed(ids), reversed(mapping["offsets"]), strict=True):
            start, end = span
            if start == end and tokens and self._processor.is_byte(token_id):
                start, end = tokens[-1].start, tokens[-1].end
            tokens.append(Token(token_id, self.piece(token_id), start, end))
        tokens.reverse()
        return mapping["text"], tokens

    def piece(self, token_id: int) -> str:
        """The piece of an id, `▁` marking a word's start."""
        piece: str = self._processor.id_to_piece(token_id)
        return piece

    def _byte_spans(self, text: str) -> list[tuple[int, int]]:
        """Which code points of `text` each UTF-8 byte of its normalised form comes from.

        SentencePiece's own offsets of pieces leave all but the last of those that one character
        became (the bytes of an emoji, the dots of "…") with an empty span; these do not.
        """
        normalised, starts = self._processor.normalize(text, with_offsets=True)
        spans: list[tuple[int, int]] = []
        end = after = starts[-1]
        for character, start in zip(reversed(normalised), reversed(starts[:-1]), strict=True):
            if start != after:
                end, after = after, start
            spans += [(start, end)] * len(character.encode())
        spans.reverse()
        if normalised.startswith(_WORD_START) and starts[0] == starts[1]:  # added, not typed
            width = len(_WORD_START.encode())
            spans[:width] = [(starts[0], starts[0])] * width
        return spans

    def _control(self, token_id: int, position: int) -> Token:
        return Token(token_id, self.piece(token_id), position, position)
