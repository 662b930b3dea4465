"""A tokeniser based on one SentencePiece model, with a symbol per target language."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

from model.errors import CheckpointError, LanguageError
from model.text.piece_table import read_files
from model.text.sentence_pieces import SentencePieces
from model.text.text_codec import Token

TOKENIZER_FILE = "sentencepiece.model"

_LANGUAGE_PREFIX, _LANGUAGE_SUFFIX = "<2", ">"


def language_token(language: str) -> str:
    """Return the control symbol of a target language: `<2fr>` (Johnson et al. 2017)."""
    return f"{_LANGUAGE_PREFIX}{language}{_LANGUAGE_SUFFIX}"


def tag_token(tag: str) -> str:
    """Return the control symbol of a kind of training text: `<bt>` (Caswell et al. 2019)."""
    return f"<{tag}>"


class Tokenizer:
    """One SentencePiece model for both sides, with a control symbol per target language.

    The `TextCodec` of the checkpoints that attend trains. Raises `CheckpointError` if the model
    cannot be read or lacks `<pad>`, `</s>` or every language.
    """

    n_control_tokens = 2  # the target's symbol and `</s>`

    def __init__(self, serialized: bytes, origin: str = "SentencePiece model") -> None:
        self._pieces = SentencePieces(serialized, origin)
        self._processor = self._pieces.processor
        self.serialized = serialized
        self.files: Mapping[str, bytes] = {TOKENIZER_FILE: serialized}
        self.vocab_size: int = self._processor.vocab_size()
        self.source_vocab_size = self.target_vocab_size = self.vocab_size
        self.pad_id: int = self._processor.pad_id()
        self.eos_id: int = self._processor.eos_id()
        self.unk_id: int = self._processor.unk_id()
        byte_ids = filter(self._processor.is_byte, range(self.vocab_size))
        self._unknown_ids = {self.unk_id, *byte_ids}
        for name, special in (("<pad>", self.pad_id), ("</s>", self.eos_id)):
            if special < 0:
                raise CheckpointError(f"{origin}: has no {name} piece")
        self._language_ids = {
            piece.removeprefix(_LANGUAGE_PREFIX).removesuffix(_LANGUAGE_SUFFIX): index
            for index in range(self.vocab_size)
            if self._processor.is_control(index)
            and (piece := self._processor.id_to_piece(index)).startswith(_LANGUAGE_PREFIX)
        }
        if not self._language_ids:
            raise CheckpointError(f"{origin}: has no target-language symbol such as <2fr>")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a `.model` file. Raises `CheckpointError`."""
        return cls(read_files(path.parent, (path.name,))[path.name], str(path))

    def can_translate_to(self, language: str) -> bool:
        return language in self._language_ids

    def language_id(self, language: str) -> int:
        """Return the id of a target language's control symbol. Raises `LanguageError`."""
        try:
            return self._language_ids[language]
        except KeyError:
            known = ", ".join(self._language_ids)
            raise LanguageError(f"no target language '{language}'; there are: {known}") from None

    def tag_id(self, tag: str) -> int:
        """Return the id of a tag's control symbol. Raises `LanguageError`."""
        token_id: int = self._processor.piece_to_id(tag_token(tag))
        if not self._processor.is_control(token_id):
            raise LanguageError(f"the vocabulary has no symbol for the tag '{tag}'")
        return token_id

    def source_symbols(self, target_language: str, tag: str = "") -> list[int]:
        """Return the ids that precede a source in training data. Raises `LanguageError`."""
        symbols = [self.language_id(target_language)]
        return [*symbols, self.tag_id(tag)] if tag else symbols

    def first_id(self, target_language: str) -> None:
        return

    def encode_source(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[Token]:
        """Return `<2xx>`, the pieces of `text`, `</s>`."""
        return [
            self._control(self.language_id(target_language), 0),
            *self.tokenize(text),
            self._control(self.eos_id, len(text)),
        ]

    def source_ids(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[int]:
        return [self.language_id(target_language), *self._pieces.ids(text), self.eos_id]

    def encode_target(self, text: str, target_language: str | None = None) -> list[Token]:
        return [*self.tokenize(text), self._control(self.eos_id, len(text))]

    def tokenize(self, text: str) -> list[Token]:
        return self._pieces.split(text)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of the pieces, for training data."""
        ids: list[list[int]] = self._processor.encode(list(texts))
        return ids

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        return self.encode_batch(texts)

    def sample_batch(self, texts: Sequence[str], alpha: float) -> list[list[int]]:
        """As `encode_batch`, with random segmentations (Kudo 2018, Provilkov et al. 2020).

        `alpha` is the smoothing of a unigram model, or the dropout of a BPE model. The random
        generator is `sentencepiece.set_random_generator_seed`'s.
        """
        ids: list[list[int]] = self._processor.encode(
            list(texts), enable_sampling=True, alpha=alpha, nbest_size=-1, num_threads=1
        )
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        return self._pieces.text(ids)

    def decode_target(self, ids: Sequence[int]) -> tuple[str, list[Token]]:
        text, spans = self._pieces.join(ids)
        tokens = [
            Token(token_id, self.piece(token_id), start, end)
            for token_id, (start, end) in zip(ids, spans, strict=True)
        ]
        return text, tokens

    def is_unknown(self, token_id: int) -> bool:
        return token_id in self._unknown_ids

    def has_unknown(self, ids: Sequence[int]) -> bool:
        return not self._unknown_ids.isdisjoint(ids)

    def piece(self, token_id: int) -> str:
        return self._vocabulary[token_id]

    @cached_property
    def _vocabulary(self) -> list[str]:
        pieces: list[str] = self._processor.id_to_piece(list(range(self.vocab_size)))
        return pieces

    def _control(self, token_id: int, position: int) -> Token:
        return Token(token_id, self.piece(token_id), position, position)
