"""Lifts inline elements out of a text and puts them back into its translation."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from io import StringIO
from itertools import islice, tee, zip_longest
from typing import Literal

from app.text.document import Answer
from app.text.linked_words import LinkedWords
from app.text.markup.inline_tags import Element, Written, put_tags
from app.text.markup.references import MAX_REFERENCES, Marked, Reference, marked, needs_links
from app.text.placeholders import ATOM
from app.text.spans import Span

_TYPOGRAPHIC = re.compile(r"[^\S\x00-\x7f\u3000]|…")
"""Characters for which models write plain ones: no-break spaces and ellipses."""

_ATOM_MARKS = re.compile("([\ue000\ue001])")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: unescaped text, or raw markup.

    Each `open` has a `close`. A `void` has no content and no words; an `atom` is one word.
    `references` are those of the characters of a text.
    """

    kind: Literal["text", "open", "close", "void", "atom"]
    raw: str
    references: Sequence[Reference] = ()


class TaggedText:
    """Pieces, read as one `text` with a mark for each atom.

    No-break spaces and ellipses are kept like characters with references.
    """

    __slots__ = ("_atoms", "_references", "_root", "text")

    def __init__(self, pieces: Iterable[Piece]) -> None:
        atoms: list[str] = []
        text = StringIO()
        references: list[Reference] = []
        root = Element("", "", Span(0, 0))
        opened = [(root, 0)]
        tags: dict[str, str] = {}  # one string for all tags that are equal
        for piece in _apart(pieces):
            length = text.tell()
            if piece.kind == "text":
                text.write(_ATOM_MARKS.sub(lambda mark: _atom(mark[0], atoms), piece.raw))
                if text.tell() == length + len(piece.raw) and len(references) <= MAX_REFERENCES:
                    found = islice(_TYPOGRAPHIC.finditer(piece.raw), MAX_REFERENCES + 1)
                    typed = {match.start(): match[0] for match in found}
                    forms = sorted((typed | dict(piece.references)).items())
                    references += (Reference(length + at, raw) for at, raw in forms)
                continue
            raw = tags.setdefault(piece.raw, piece.raw)
            if piece.kind == "atom":
                text.write(_atom(raw, atoms))
            elif piece.kind == "close":
                element, start = opened.pop()
                element.closing, element.span = raw, Span(start, length)
            else:
                element = Element(raw, "", Span(length, length))
                opened[-1][0].add(element)
                if piece.kind == "open":
                    opened.append((element, length))
        self.text = text.getvalue()
        root.span = Span(0, len(self.text))
        self._root = root if root.children else None
        self._atoms = tuple(atoms)
        self._references = tuple(references) if len(references) <= MAX_REFERENCES else ()

    @property
    def is_tagged(self) -> bool:
        """Whether writing the translation needs word links."""
        return self._root is not None or needs_links(self.text, self._references)

    def with_translation(self, answer: Answer, escape: Callable[[str], str]) -> str:
        """Return the translation as markup, with all tags and atoms."""
        translation = answer.text
        linked = cache(lambda: LinkedWords(self.text, translation, answer.links))
        masked, forms = Marked(translation, {})
        if self._references:
            masked, forms = marked(
                self.text, self._references, translation, answer.languages, linked
            )

        def written(text: str) -> str:
            text = escape(text).translate(forms) if forms else escape(text)
            return ATOM.sub(lambda atom: self._atoms[int(atom[0][1:-1])], text)

        if self._root is None:
            return written(masked)
        return put_tags(self._root, self.text, Written(translation, masked, written), linked())


def _atom(raw: str, atoms: list[str]) -> str:
    """Add an atom and return its mark. Characters used in marks are atoms, too."""
    atoms.append(raw)
    return f"\ue000{len(atoms) - 1}\ue001"


def _apart(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Give a void between two spaces one of them, so that it stays separate."""
    blank = ""
    here, following, behind = tee(pieces, 3)
    following, behind = islice(following, 1, None), islice(behind, 2, None)
    for piece, after, next_but_one in zip_longest(here, following, behind):
        if piece.kind == "void":
            yield Piece("void", blank + piece.raw)
            blank = ""
        elif (
            piece.kind == "text"
            and piece.raw[-1:].isspace()
            and after is not None
            and after.kind == "void"
            and (next_but_one is None or next_but_one.raw[:1].isspace())
        ):
            end = len(piece.raw) - 1
            blank = dict(piece.references).get(end, piece.raw[-1])
            yield Piece("text", piece.raw[:-1], [one for one in piece.references if one.at < end])
        else:
            yield piece
