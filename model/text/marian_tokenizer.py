"""The tokeniser of Marian models in Hugging Face format: pieces and ids in separate files.

`source.spm` and `target.spm` are SentencePiece models that split text; `vocab.json` maps pieces to
ids, and `target_vocab.json` those of the target if it has separate ids. With `bpe.model` instead,
text is split by Moses's rules.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from model.errors import CheckpointError, LanguageError
from model.text.moses_pieces import BPE_FILE, MosesPieces
from model.text.piece_table import PieceTable, TableCodec, read_files
from model.text.sentence_pieces import SentencePieces
from model.text.text_codec import Token

SOURCE_PIECES_FILE = "source.spm"
TARGET_PIECES_FILE = "target.spm"
VOCABULARY_FILE = "vocab.json"
TARGET_VOCABULARY_FILE = "target_vocab.json"

_AT_A_TIME = 40_000
_BETWEEN = re.compile(r'(?<![\\,{:\s])"\s*:\s*\d+\s*(?P<comma>,)\s*(?=")')
"""The end of an entry, before another one: its first quote ends a string, since it is not escaped,
and not behind what precedes a string's first quote."""

BOS, EOS, UNK, PAD = "<s>", "</s>", "<unk>", "<pad>"


@dataclass(frozen=True)
class SequenceEnds:
    """Tokens at the start and end of an encoder's input, and at the start of a translation.

    bos    `<s>` precedes the source
    eos    `</s>` follows it; it also stands for a text without pieces
    first  the first token of every translation, and its id; None: the decoder chooses it
    """

    bos: bool = False
    eos: bool = True
    first: tuple[str, int] | None = None

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  (stored in a checkpoint)


MARIAN_ENDS = SequenceEnds()


class MarianTokenizer(TableCodec):
    """The `TextCodec` of Marian models, and of others with pieces and ids in separate files.

    `files` maps file names to content, `target_symbols` languages to symbols (`fr` → `>>fra<<`),
    empty for a model with a single target, which has no symbol. `moses` has the languages of
    `MosesPieces`. Pieces missing from the vocabulary become `<unk>`. Raises `CheckpointError` for
    files that are damaged or inconsistent.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        target_symbols: Mapping[str, str],
        origin: str,
        ends: SequenceEnds = MARIAN_ENDS,
        moses: tuple[str, str] | None = None,
    ) -> None:
        self.files: Mapping[str, bytes] = dict(files)
        self.ends = ends
        self.moses = moses
        reader, target_reader = _splitters(files, origin, moses)
        self.source_pieces = _pieces(files, VOCABULARY_FILE, origin)
        self.separate = TARGET_VOCABULARY_FILE in files
        self.target_pieces = (
            _pieces(files, TARGET_VOCABULARY_FILE, origin) if self.separate else self.source_pieces
        )
        eos_id, unk_id, pad_id = map(self.source_pieces.index, (EOS, UNK, PAD))
        for piece, here in ((EOS, eos_id), (PAD, pad_id)):
            if here != (there := self.target_pieces.index(piece)):
                raise CheckpointError(
                    f"{origin}: {piece} is {here} in {VOCABULARY_FILE}, "
                    f"{there} in {TARGET_VOCABULARY_FILE}"
                )
        known = {piece: index for index, piece in enumerate(self.source_pieces)}
        for symbol in target_symbols.values():
            if symbol not in known:
                raise CheckpointError(f"{origin}/{VOCABULARY_FILE}: has no piece {symbol}")
        self.target_unk_id = self.target_pieces.index(UNK)
        self.target_symbols = dict(target_symbols)
        if ends.bos and BOS not in known:
            raise CheckpointError(f"{origin}/{VOCABULARY_FILE}: has no {BOS} piece")
        self._bos = [Token(known[BOS], BOS, 0, 0)] if ends.bos else []
        if ends.first and ends.first != (self.target_pieces[ends.first[1]], ends.first[1]):
            raise CheckpointError(f"{origin}: {ends.first[0]} does not have id {ends.first[1]}")
        self.n_control_tokens = ends.bos + ends.eos + bool(target_symbols)
        self._symbol_ids = {symbol: known[symbol] for symbol in target_symbols.values()}
        special = {EOS, PAD, *symbols(self.source_pieces)}
        if self.separate:
            special |= {*symbols(self.target_pieces)}
        if ends != MARIAN_ENDS:
            special |= {BOS, *([ends.first[0]] if ends.first else [])}
        source = target = PieceTable(reader, self.source_pieces, special, unk_id)
        if self.separate or target_reader is not reader:
            target = PieceTable(target_reader, self.target_pieces, special, self.target_unk_id)
        super().__init__(source, target, eos_id, pad_id)

    @classmethod
    def load(
        cls,
        folder: Path,
        target_symbols: Mapping[str, str],
        *,
        separate: bool,
        ends: SequenceEnds = MARIAN_ENDS,
        moses: tuple[str, str] | None = None,
    ) -> Self:
        """Read the files of a folder, `target_vocab.json` if `separate`. Raises as the class."""
        names = [BPE_FILE] if moses else [SOURCE_PIECES_FILE, TARGET_PIECES_FILE]
        names.append(VOCABULARY_FILE)
        if separate:
            names.append(TARGET_VOCABULARY_FILE)
        return cls(read_files(folder, names), target_symbols, str(folder), ends, moses)

    def can_translate_to(self, language: str) -> bool:
        return not self.target_symbols or language in self.target_symbols

    def first_id(self, target_language: str) -> int | None:
        return self.ends.first[1] if self.ends.first else None

    def encode_source(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[Token]:
        """Return the target's symbol if there are several targets, the pieces, `</s>`."""
        symbols = self._symbols(target_language)
        return [
            *self._bos,
            *(Token(self._symbol_ids[symbol], symbol, 0, 0) for symbol in symbols),
            *(tokens := self.tokenize(text)),
            *([self._end(text)] if self.ends.eos or not tokens else []),
        ]

    def source_ids(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[int]:
        return [
            *(token.id for token in self._bos),
            *(self._symbol_ids[symbol] for symbol in self._symbols(target_language)),
            *(ids := self._source.ids(text)),
            *([self.eos_id] if self.ends.eos or not ids else []),
        ]

    def source_symbols(self, target_language: str, tag: str = "") -> list[int]:
        """Return the ids that precede a source in training data. Raises `LanguageError`."""
        if tag:
            raise LanguageError(f"the vocabulary has no symbol for the tag '{tag}'")
        return [self._symbol_ids[symbol] for symbol in self._symbols(target_language)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of the pieces of sources, for training data."""
        return [self._source.ids(text) for text in texts]

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        return [self._target.ids(text) for text in texts]

    def _symbols(self, target_language: str) -> list[str]:
        """Return the symbols before a text. Raises `LanguageError`."""
        if not self.target_symbols:
            return []
        if target_language not in self.target_symbols:
            known = ", ".join(self.target_symbols)
            raise LanguageError(f"no target language '{target_language}'; there are: {known}")
        return [self.target_symbols[target_language]]

    def encode_target(self, text: str, target_language: str | None = None) -> list[Token]:
        first = []
        if self.ends.first and target_language is not None:
            piece, token_id = self.ends.first
            first = [Token(token_id, piece, 0, 0)]
        return [*first, *self._target.tokens(text), self._end(text)]


def _splitters(
    files: Mapping[str, bytes], origin: str, moses: tuple[str, str] | None
) -> tuple[SentencePieces, SentencePieces] | tuple[MosesPieces, MosesPieces]:
    """Return what splits the text of source and target; once if it is the same."""
    if moses:
        both = MosesPieces(files[BPE_FILE], moses, origin)
        return both, both
    first, second = files[SOURCE_PIECES_FILE], files[TARGET_PIECES_FILE]
    reader = SentencePieces(first, f"{origin}/{SOURCE_PIECES_FILE}")
    if second == first:
        return reader, reader
    return reader, SentencePieces(second, f"{origin}/{TARGET_PIECES_FILE}")


def symbols(pieces: Sequence[str]) -> list[str]:
    """Return the pieces that select a target language, such as `>>fra<<`."""
    return [piece for piece in pieces if piece.startswith(">>") and piece.endswith("<<")]


def _pieces(files: Mapping[str, bytes], name: str, origin: str) -> list[str]:
    pieces = read_pieces(files, name, origin)
    for special in (EOS, UNK, PAD):
        if special not in pieces:
            raise CheckpointError(f"{origin}/{name}: has no {special} piece")
    return pieces


def read_pieces(files: Mapping[str, bytes], name: str, origin: str) -> list[str]:
    """Return the pieces of a JSON vocabulary, in the order of their ids 0, 1, ….

    Raises `CheckpointError`.
    """
    path = f"{origin}/{name}"
    ids: dict[str, int] = {}
    try:
        for part in _objects(files[name].decode("utf-8-sig")):
            found = json.loads(part)
            if not isinstance(found, dict) or not set(map(type, found.values())) <= {int}:
                raise CheckpointError(f"{path}: not an object of pieces and ids")
            ids |= found
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not JSON: {error}") from None
    numbers = list(ids.values())
    if numbers == list(range(len(ids))):  # as most files have them
        return list(ids)
    pieces = sorted(ids, key=ids.__getitem__)
    for expected, piece in enumerate(pieces):
        if ids[piece] != expected:
            raise CheckpointError(
                f"{path}: ids must be 0 … {len(ids) - 1}, each once; {piece!r} has {ids[piece]}"
            )
    return pieces


def _objects(text: str) -> Iterator[str]:
    """Split a JSON object of integers into several with about `_AT_A_TIME` characters each.

    The parser does not release the interpreter's lock: other threads would wait for all pieces.
    """
    start, head = 0, ""
    while end := _BETWEEN.search(text, start + _AT_A_TIME):
        yield f"{head}{text[start : end.start('comma')]}}}"
        start, head = end.end(), "{"
    yield head + text[start:]
