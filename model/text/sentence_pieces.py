"""One SentencePiece model (Kudo & Richardson 2018): text to pieces and back, with true places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import sentencepiece

from model.errors import TokenizerError

_SURROGATE = re.compile("[\ud800-\udfff]")
_WORD_START = "▁"


class Piece(NamedTuple):
    """A piece by SentencePiece's own id, standing for code points start … end of a text."""

    id: int
    piece: str
    start: int
    end: int


class SentencePieces:
    """Splits text into pieces and joins pieces to text, each with the place of every piece.

    A `▁` that SentencePiece puts before the first word stands for no text and has an empty span.
    Pieces that share a character have it in both their spans: the UTF-8 bytes of one that is not
    in the vocabulary, or the letters of a ligature. Raises `TokenizerError` for what is not a
    SentencePiece model.
    """

    def __init__(self, serialized: bytes, origin: str) -> None:
        self.processor = sentencepiece.SentencePieceProcessor()
        try:
            self.processor.LoadFromSerializedProto(serialized)
        except RuntimeError:
            raise TokenizerError(f"{origin}: not a SentencePiece model") from None
        self.serialized = serialized

    def split(self, text: str) -> list[Piece]:
        """The pieces of `text`. Text that looks like a control symbol stays text.

        A lone surrogate, which no UTF-8 can hold, is read as U+FFFD; offsets are unaffected.
        """
        encodable = _encodable(text)
        mapping = self.processor.encode(encodable, return_type="offset_mapping")
        spans = self._byte_spans(encodable)
        pieces: list[Piece] = []
        first = 0
        for piece_id, piece in zip(mapping["ids"], mapping["pieces"], strict=True):
            n_bytes = 1 if self.processor.is_byte(piece_id) else len(piece.encode())
            covered = spans[first : first + n_bytes]
            pieces.append(Piece(piece_id, piece, covered[0][0], covered[-1][1]))
            first += n_bytes
        return pieces

    def ids(self, text: str) -> list[int]:
        """Those of `split`, without their places: a fraction of the work."""
        found: list[int] = self.processor.encode(_encodable(text))
        return found

    def pieces(self, text: str) -> list[str]:
        """As `ids`, for a vocabulary that has ids of its own."""
        found: list[str] = self.processor.encode(_encodable(text), out_type=str)
        return found

    def join(self, pieces: Sequence[int] | Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
        """Pieces, or their ids, to text and the span of each in it.

        A control symbol has an empty span; the bytes of one character share its span.
        """
        mapping = self.processor.decode(pieces, return_type="offset_mapping")
        spans: list[tuple[int, int]] = []
        # From the back, since SentencePiece gives a character's span to the last of its bytes.
        for piece_id, span in zip(
            reversed(mapping["ids"]), reversed(mapping["offsets"]), strict=True
        ):
            start, end = span
            if start == end and spans and self.processor.is_byte(piece_id):
                start, end = spans[-1]
            spans.append((start, end))
        spans.reverse()
        return mapping["text"], spans

    def _byte_spans(self, text: str) -> list[tuple[int, int]]:
        """Which code points of `text` each UTF-8 byte of its normalised form comes from.

        SentencePiece's own offsets of pieces leave all but the last of those that one character
        became (the bytes of an emoji, the dots of "…") with an empty span; these do not.
        """
        normalised, starts = self.processor.normalize(text, with_offsets=True)
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


def _encodable(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)
