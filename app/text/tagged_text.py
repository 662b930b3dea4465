"""Lifts inline elements out of a text and puts them back into its translation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from app.text.document import Answer
from app.text.inline_tags import Element, put_tags
from app.text.placeholders import ATOM
from app.text.spans import Span

_ATOM_MARKS = re.compile("([\ue000\ue001])")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: unescaped text, or a raw tag or atom.

    Each `open` has a `close`. A `void` has no content and no words; an `atom` is one word.
    """

    kind: Literal["text", "open", "close", "void", "atom"]
    raw: str


class TaggedText:
    """Pieces, read as one `text` with a mark for each atom."""

    __slots__ = ("_atoms", "_root", "text")

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._atoms: list[str] = []
        parts: list[str] = []
        length = 0
        self._root = Element("", "", Span(0, 0))
        opened = [(self._root, 0)]
        for piece in _apart(list(pieces)):
            if piece.kind in ("text", "atom"):
                parts.append(self._text(piece))
                length += len(parts[-1])
            elif piece.kind == "close":
                element, start = opened.pop()
                element.closing, element.span = piece.raw, Span(start, length)
            else:
                element = Element(piece.raw, "", Span(length, length))
                opened[-1][0].children.append(element)
                if piece.kind == "open":
                    opened.append((element, length))
        self.text = "".join(parts)
        self._root.span = Span(0, length)

    @property
    def is_tagged(self) -> bool:
        """Whether it contains elements."""
        return bool(self._root.children)

    def with_translation(self, answer: Answer, escape: Callable[[str], str]) -> str:
        """Return the translation as markup, with all tags and atoms."""

        def written(text: str) -> str:
            return ATOM.sub(lambda atom: self._atoms[int(atom[0][1:-1])], escape(text))

        return put_tags(self._root, self.text, answer.text, answer.links, written)

    def _text(self, piece: Piece) -> str:
        """Return the text, turning characters used as marks into atoms."""
        if piece.kind == "atom":
            return self._atom(piece.raw)
        return _ATOM_MARKS.sub(lambda mark: self._atom(mark[0]), piece.raw)

    def _atom(self, raw: str) -> str:
        self._atoms.append(raw)
        return f"\ue000{len(self._atoms) - 1}\ue001"


def _apart(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Give a void between two spaces one of them, so that it stays separate."""
    blank = ""
    for at, piece in enumerate(pieces):
        following = pieces[at + 1 : at + 3]
        if piece.kind == "void":
            yield Piece("void", blank + piece.raw)
            blank = ""
        elif (
            piece.kind == "text"
            and piece.raw[-1:].isspace()
            and following
            and following[0].kind == "void"
            and (len(following) == 1 or following[1].raw[:1].isspace())
        ):
            blank = piece.raw[-1]
            yield Piece("text", piece.raw[:-1])
        else:
            yield piece
