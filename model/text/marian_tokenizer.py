"""The tokeniser of Marian models in Hugging Face format: pieces and ids in separate files.

`source.spm` and `target.spm` are SentencePiece models that split text; `vocab.json` maps pieces to
ids, and `target_vocab.json` those of the target if it has separate ids.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from model.errors import LanguageError, TokenizerError
from model.text.sentence_pieces import Piece, SentencePieces
from model.text.text_codec import Token

SOURCE_PIECES_FILE = "source.spm"
TARGET_PIECES_FILE = "target.spm"
VOCABULARY_FILE = "vocab.json"
TARGET_VOCABULARY_FILE = "target_vocab.json"

EOS, UNK, PAD = "</s>", "<unk>", "<pad>"
_WORD_START = "▁"


class MarianTokenizer:
    """The `TextCodec` of Marian models.

    `files` maps file names to content, `target_symbols` languages to symbols (`fr` → `>>fra<<`),
    empty for a model with a single target, which has no symbol. Pieces missing from the vocabulary
    become `<unk>`. Raises `TokenizerError` for files that are damaged or inconsistent.
    """

    def __init__(
        self, files: Mapping[str, bytes], target_symbols: Mapping[str, str], origin: str
    ) -> None:
        self.files = dict(files)
        self._source = SentencePieces(files[SOURCE_PIECES_FILE], f"{origin}/{SOURCE_PIECES_FILE}")
        self._target = SentencePieces(files[TARGET_PIECES_FILE], f"{origin}/{TARGET_PIECES_FILE}")
        self.source_pieces = _pieces(files, VOCABULARY_FILE, origin)
        self.separate = TARGET_VOCABULARY_FILE in files
        self.target_pieces = (
            _pieces(files, TARGET_VOCABULARY_FILE, origin) if self.separate else self.source_pieces
        )
        self._ids = {piece: index for index, piece in enumerate(self.source_pieces)}
        self._target_ids = {piece: index for index, piece in enumerate(self.target_pieces)}
        self.eos_id, self._unk_id, self.pad_id = (self._ids[piece] for piece in (EOS, UNK, PAD))
        for piece in (EOS, PAD):
            here, there = self._ids[piece], self._target_ids[piece]
            if here != there:
                raise TokenizerError(
                    f"{origin}: {piece} is {here} in {VOCABULARY_FILE}, "
                    f"{there} in {TARGET_VOCABULARY_FILE}"
                )
        for symbol in target_symbols.values():
            if symbol not in self._ids:
                raise TokenizerError(f"{origin}/{VOCABULARY_FILE}: has no piece {symbol}")
        self.target_unk_id = self._target_ids[UNK]
        self.target_symbols = dict(target_symbols)
        never_text = {EOS, PAD, *symbols(self.source_pieces), *symbols(self.target_pieces)}
        # A run of unknown characters is also a piece, and may be spelt `</s>`.
        self._readable, self._writable = (
            {piece: index for piece, index in ids.items() if piece not in never_text}
            for ids in (self._ids, self._target_ids)
        )
        self._silent = {EOS, UNK, PAD, *symbols(self.target_pieces)}

    @classmethod
    def load(
        cls, folder: Path, target_symbols: Mapping[str, str], *, separate: bool
    ) -> MarianTokenizer:
        """Read the files of a folder, `target_vocab.json` if `separate`. Raises as the class."""
        names = [SOURCE_PIECES_FILE, TARGET_PIECES_FILE, VOCABULARY_FILE]
        if separate:
            names.append(TARGET_VOCABULARY_FILE)
        files: dict[str, bytes] = {}
        for name in names:
            try:
                files[name] = (folder / name).read_bytes()
            except OSError as error:
                raise TokenizerError(f"{folder / name}: {error.strerror}") from None
        return cls(files, target_symbols, str(folder))

    @property
    def source_vocab_size(self) -> int:
        """Number of ids that the encoder accepts."""
        return len(self.source_pieces)

    @property
    def target_vocab_size(self) -> int:
        """Number of ids that the decoder may produce."""
        return len(self.target_pieces)

    @property
    def n_control_tokens(self) -> int:
        """The end of sentence, and with several targets the target's symbol."""
        return 1 + bool(self.target_symbols)

    def can_translate_to(self, language: str) -> bool:
        """Whether it has a symbol; a single target needs none."""
        return not self.target_symbols or language in self.target_symbols

    def encode_source(self, text: str, target_language: str) -> list[Token]:
        """The target's symbol if there are several, the pieces of `text`, `</s>`."""
        symbols = self._symbols(target_language)
        return [
            *(Token(self._ids[symbol], symbol, 0, 0) for symbol in symbols),
            *self.tokenize(text),
            Token(self.eos_id, EOS, len(text), len(text)),
        ]

    def source_ids(self, text: str, target_language: str) -> list[int]:
        """The ids of `encode_source`."""
        return [
            *(self._ids[symbol] for symbol in self._symbols(target_language)),
            *(self._readable.get(piece, self._unk_id) for piece in self._source.pieces(text)),
            self.eos_id,
        ]

    def _symbols(self, target_language: str) -> list[str]:
        """Return the symbols before a text. Raises `LanguageError`."""
        if not self.target_symbols:
            return []
        if target_language not in self.target_symbols:
            known = ", ".join(self.target_symbols)
            raise LanguageError(f"no target language '{target_language}'; there are: {known}")
        return [self.target_symbols[target_language]]

    def encode_target(self, text: str) -> list[Token]:
        """The pieces of `text` in the target's vocabulary, and `</s>`."""
        return [
            *_tokens(self._target.split(text), self._writable, self._target_ids[UNK]),
            Token(self.eos_id, EOS, len(text), len(text)),
        ]

    def tokenize(self, text: str) -> list[Token]:
        """Only the pieces of a source text. Text that looks like a symbol never becomes one."""
        return _tokens(self._source.split(text), self._readable, self._unk_id)

    def decode(self, ids: Sequence[int]) -> str:
        """Convert decoder output to text, without control symbols and `<unk>`."""
        return self.decode_target(ids)[0]

    def decode_target(self, ids: Sequence[int]) -> tuple[str, list[Token]]:
        """Convert decoder output to text and its tokens, with their spans in that text."""
        pieces = [self.piece(token_id) for token_id in ids]
        joined, joined_spans = self._target.join(
            [piece for piece in pieces if piece not in self._silent]
        )
        # A piece of vocab.json that target.spm lacks keeps its ▁.
        spaced = joined.replace(_WORD_START, " ")
        text = spaced.strip()
        skipped = len(spaced) - len(spaced.lstrip())
        spans = iter(joined_spans)
        tokens: list[Token] = []
        end = 0
        for token_id, piece in zip(ids, pieces, strict=True):
            start = end
            if piece not in self._silent:
                start, end = (min(max(at - skipped, 0), len(text)) for at in next(spans))
            tokens.append(Token(token_id, piece, start, end))
        return text, tokens

    def is_unknown(self, token_id: int) -> bool:
        """Whether it is `<unk>`."""
        return token_id == self._unk_id

    def piece(self, token_id: int) -> str:
        """The piece of a target id; `▁` marks the start of a word."""
        return self.target_pieces[token_id]


def _tokens(pieces: list[Piece], ids: Mapping[str, int], unknown: int) -> list[Token]:
    return [Token(ids.get(piece, unknown), piece, start, end) for _, piece, start, end in pieces]


def symbols(pieces: Sequence[str]) -> list[str]:
    """Return the pieces that select a target language, such as `>>fra<<`."""
    return [piece for piece in pieces if piece.startswith(">>") and piece.endswith("<<")]


def _pieces(files: Mapping[str, bytes], name: str, origin: str) -> list[str]:
    """Return the pieces of a vocabulary, in the order of their ids 0, 1, …."""
    path = f"{origin}/{name}"
    try:
        ids = json.loads(files[name])
    except (ValueError, RecursionError) as error:
        raise TokenizerError(f"{path}: not JSON: {error}") from None
    if not isinstance(ids, dict) or not all(type(index) is int for index in ids.values()):
        raise TokenizerError(f"{path}: not an object of pieces and ids")
    pieces: list[str] = sorted(ids, key=lambda piece: int(ids[piece]))
    for expected, piece in enumerate(pieces):
        if ids[piece] != expected:
            raise TokenizerError(
                f"{path}: ids must be 0 … {len(ids) - 1}, each once; {piece!r} has {ids[piece]}"
            )
    for special in (EOS, UNK, PAD):
        if special not in ids:
            raise TokenizerError(f"{path}: has no {special} piece")
    return pieces
