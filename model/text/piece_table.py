"""Tokenisers whose pieces have ids of their own, in another order than SentencePiece's."""

from collections.abc import Collection, Sequence
from pathlib import Path

from model.errors import CheckpointError
from model.text.moses_pieces import MosesPieces
from model.text.sentence_pieces import SentencePieces
from model.text.text_codec import Token

_WORD_START = "▁"


class PieceTable:
    """Converts text to ids and back by what splits text and a list of pieces.

    pieces   by id
    special  control symbols: no text becomes one, not even a run of unknown characters spelt
             `</s>`, and decoded text has none
    unknown  the id of `<unk>`, for pieces that the list lacks; decoded text has none
    """

    def __init__(
        self,
        splitter: SentencePieces | MosesPieces,
        pieces: Sequence[str],
        special: Collection[str],
        unknown: int,
    ) -> None:
        self.pieces = pieces
        self._splitter = splitter
        self.unknown = unknown
        self._omitted = {*special, pieces[unknown]}
        self._ids = {piece: index for index, piece in enumerate(pieces) if piece not in special}

    def tokens(self, text: str) -> list[Token]:
        return [
            Token(self._ids.get(piece, self.unknown), piece, start, end)
            for _, piece, start, end in self._splitter.split(text)
        ]

    def ids(self, text: str) -> list[int]:
        """Return the ids of `tokens`, without spans, which is much faster."""
        return [self._ids.get(piece, self.unknown) for piece in self._splitter.pieces(text)]

    def decode(self, ids: Sequence[int]) -> tuple[str, list[Token]]:
        """Convert ids to text and its tokens, with their spans in that text."""
        pieces = [self.pieces[token_id] for token_id in ids]
        joined, joined_spans = self._splitter.join(
            [piece for piece in pieces if piece not in self._omitted]
        )
        # A piece that the SentencePiece model lacks keeps its ▁.
        spaced = joined.replace(_WORD_START, " ")
        text = spaced.strip()
        skipped = len(spaced) - len(spaced.lstrip())
        spans = iter(joined_spans)
        tokens: list[Token] = []
        end = 0
        for token_id, piece in zip(ids, pieces, strict=True):
            start = end
            if piece not in self._omitted:
                start, end = (min(max(at - skipped, 0), len(text)) for at in next(spans))
            tokens.append(Token(token_id, piece, start, end))
        return text, tokens


class TableCodec:
    """The part of a `TextCodec` with a table for sources and one for targets, or one for both."""

    def __init__(self, source: PieceTable, target: PieceTable, eos_id: int, pad_id: int) -> None:
        self._source = source
        self._target = target
        self.source_vocab_size = len(source.pieces)
        self.target_vocab_size = len(target.pieces)
        self.eos_id = eos_id
        self.pad_id = pad_id

    def tokenize(self, text: str) -> list[Token]:
        return self._source.tokens(text)

    def decode(self, ids: Sequence[int]) -> str:
        return self.decode_target(ids)[0]

    def decode_target(self, ids: Sequence[int]) -> tuple[str, list[Token]]:
        return self._target.decode(ids)

    def is_unknown(self, token_id: int) -> bool:
        return token_id == self._source.unknown

    def has_unknown(self, ids: Sequence[int]) -> bool:
        return self._source.unknown in ids

    def piece(self, token_id: int) -> str:
        return self._target.pieces[token_id]

    def _end(self, text: str) -> Token:
        return Token(self.eos_id, self._source.pieces[self.eos_id], len(text), len(text))


def read_files(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Return the content of a tokeniser's files. Raises `CheckpointError`."""
    files: dict[str, bytes] = {}
    for name in names:
        try:
            files[name] = (folder / name).read_bytes()
        except OSError as error:
            raise CheckpointError(f"{folder / name}: {error.strerror}") from None
    return files
