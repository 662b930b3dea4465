"""A SentencePiece model whose pieces have ids of their own, in another order than its."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from model.text.sentence_pieces import SentencePieces
from model.text.text_codec import Token

_WORD_START = "▁"


class PieceTable:
    """Converts text to ids and back by a SentencePiece model and a list of pieces.

    pieces   by id
    special  control symbols: no text becomes one, and they vanish from text. (A run of unknown
             characters is a piece, too, and may be spelt `</s>`.)
    unknown  the id of `<unk>`, for pieces that the list lacks; it vanishes from text as well
    """

    def __init__(
        self,
        sentence_pieces: SentencePieces,
        pieces: Sequence[str],
        special: Collection[str],
        unknown: int,
    ) -> None:
        self.pieces = pieces
        self._sentence_pieces = sentence_pieces
        self._unknown = unknown
        self._silent = {*special, pieces[unknown]}
        self._ids = {piece: index for index, piece in enumerate(pieces) if piece not in special}

    def tokens(self, text: str) -> list[Token]:
        """The tokens of a text, with their spans."""
        return [
            Token(self._ids.get(piece, self._unknown), piece, start, end)
            for _, piece, start, end in self._sentence_pieces.split(text)
        ]

    def ids(self, text: str) -> list[int]:
        """The ids of `tokens`, which is much faster."""
        return [self._ids.get(piece, self._unknown) for piece in self._sentence_pieces.pieces(text)]

    def decode(self, ids: Sequence[int]) -> tuple[str, list[Token]]:
        """Convert ids to text and its tokens, with their spans in that text."""
        pieces = [self.pieces[token_id] for token_id in ids]
        joined, joined_spans = self._sentence_pieces.join(
            [piece for piece in pieces if piece not in self._silent]
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
            if piece not in self._silent:
                start, end = (min(max(at - skipped, 0), len(text)) for at in next(spans))
            tokens.append(Token(token_id, piece, start, end))
        return text, tokens
