"""One SentencePiece model (Kudo & Richardson 2018): text to pieces and back, with exact spans."""

import re
from collections.abc import Sequence

import sentencepiece

from model.errors import damaged
from model.text.text_codec import Token

_SURROGATE = re.compile("[\ud800-\udfff]")
_WORD_START = "▁"
_REPLACEMENT = "\ufffd"


class SentencePieces:
    """Splits text into pieces and joins pieces to text, with the span of each piece.

    Ids are SentencePiece's. Raises `CheckpointError` if the data is not a
    SentencePiece model.
    """

    def __init__(self, serialized: bytes, origin: str) -> None:
        self.processor = sentencepiece.SentencePieceProcessor()
        try:
            self.processor.LoadFromSerializedProto(serialized)
        except RuntimeError:
            raise damaged(origin, serialized, "not a SentencePiece model") from None
        self.serialized = serialized

    def split(self, text: str) -> list[Token]:
        """Return the pieces of `text`. Text that looks like a control symbol stays text.

        A lone surrogate, which UTF-8 cannot encode, becomes U+FFFD; offsets are unaffected.
        """
        encodable = _encodable(text)
        mapping = self.processor.encode(encodable, return_type="offset_mapping")
        spans = self._byte_spans(encodable)
        pieces: list[Token] = []
        first = 0
        for piece_id, piece in zip(mapping["ids"], mapping["pieces"], strict=True):
            n_bytes = 1 if self.processor.is_byte(piece_id) else len(piece.encode())
            covered = spans[first : first + n_bytes]
            pieces.append(Token(piece_id, piece, covered[0][0], covered[-1][1]))
            first += n_bytes
        return pieces

    def ids(self, text: str) -> list[int]:
        """Return the ids of `split` without spans, which is much faster."""
        found: list[int] = self.processor.encode(_encodable(text))
        return found

    def pieces(self, text: str) -> list[str]:
        """As `ids`, but pieces, for a vocabulary with separate ids."""
        found: list[str] = self.processor.encode(_encodable(text), out_type=str)
        return found

    def text(self, ids: Sequence[int]) -> str:
        """Join ids to text, without spans, which is much faster; see `join`."""
        if self.processor.unk_id() in ids:
            return self.join(list(ids))[0]
        text: str = self.processor.decode(list(ids))
        return text.replace(_REPLACEMENT, "") if _REPLACEMENT in text else text

    def join(self, pieces: Sequence[int] | Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
        """Join pieces, or their ids, to text, and return the span of each.

        Control symbols have an empty span; the bytes of one character share its span. `<unk>` and
        incomplete bytes, for which SentencePiece writes a mark and U+FFFD, are left out.
        """
        mapping = self.processor.decode(pieces, return_type="offset_mapping")
        offsets: list[tuple[int, int]] = mapping["offsets"]
        text, moved = _without(mapping["text"], self._omitted(pieces, mapping["text"], offsets))
        if moved is not None:
            offsets = [(moved[start], moved[end]) for start, end in offsets]
        spans: list[tuple[int, int]] = []
        # In reverse, since SentencePiece assigns a character's span to the last of its bytes.
        for piece_id, span in zip(reversed(mapping["ids"]), reversed(offsets), strict=True):
            start, end = span
            if start == end and spans and self.processor.is_byte(piece_id):
                start, end = spans[-1]
            spans.append((start, end))
        spans.reverse()
        return text, spans

    def _omitted(
        self, pieces: Sequence[int] | Sequence[str], text: str, offsets: Sequence[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Return the spans of decoded text that represent no character, in order."""
        found = [match.span() for match in re.finditer(_REPLACEMENT, text)]
        unknown = self.processor.unk_id()  # a piece given as a string stands for itself
        if unknown in pieces:
            marks = zip(pieces, offsets, strict=True)
            found = sorted({*found, *(span for piece, span in marks if piece == unknown)})
        return found

    def _byte_spans(self, text: str) -> list[tuple[int, int]]:
        """Map each UTF-8 byte of the normalised `text` to the code points that it comes from.

        SentencePiece's own offsets are empty for all but the last of the pieces from one character,
        such as the bytes of an emoji or the dots of "…".
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


def _without(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, list[int] | None]:
    """Cut spans out of a text, and map its offsets to those that remain; None if nothing is cut."""
    if not spans:
        return text, None
    parts: list[str] = []
    moved: list[int] = []
    at = length = 0
    for start, end in (*spans, (len(text), len(text))):
        parts.append(text[at:start])
        moved += [*range(length, length + start - at), *[length + start - at] * (end - start)]
        length += start - at
        at = end
    return "".join(parts), [*moved, length]


def _encodable(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)
