"""Markdown (CommonMark with tables and strikethrough): paragraphs, headings, items and cells.

Code, link addresses, images, front matter, definitions and everything between blocks are kept. Each
translation is parsed again before it is used: if its structure differs from the paragraph's, it is
escaped, and as a last resort loses its emphasis.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.documents.line_breaks import filled
from app.documents.markdown_inline import (
    EMPHASIS,
    FOREIGN,
    Inline,
    InlineReader,
    Mark,
    new_markdown,
)
from app.documents.markdown_positions import Lines, Position
from app.errors import UnreadableFileError
from app.text.document import MAX_DOCUMENTS, Answer, Document, Parts
from app.text.markup.document import MarkupDocument, MarkupOptions
from app.text.markup.references import Reference
from app.text.markup.tagged_text import Piece, TaggedText

MAX_PARAGRAPH = 30_000
"""Maximum code points of a paragraph; parsing time may grow with their square."""

_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n(?:.*?\n)??\1[ \t]*(?:\n|\Z)", re.DOTALL)
_FIRST_TAG = re.compile(r"\s*</?([A-Za-z][A-Za-z0-9-]*)")
_FORMULA = "$$"

_FEW = r"\\|&(?=#?\w+;)"
_ALL = r"[\\`*_\[\]<>&~!$]"
_BLOCK_START = re.compile(
    r" {0,3}(?:\d{1,9}(?=[.)](?:\s|$))"
    r"|(?=#{1,6}(?:\s|$)|>|[-+*](?:\s|$)|~~~|:::|\$\$|[-=]+\s*$|(?:[-_*][ \t]*){3,}$"
    r"|\[(?!\^)[^\]]*\]:))"
)
MAX_BLOCKS = 2 * MAX_DOCUMENTS
"""Lines that may begin a block; each takes 60 µs to parse, before texts are counted."""

_MAY_BREAK = "\ue004"
"""Replaces a space at which a line may end."""


_MAY_BE_BLOCK = re.compile(
    rf"^[ \t>]*(?:[-+*#>=\[|]|\d+[.)]|\r?$|{FOREIGN})|^[^\n|]*\|", re.MULTILINE
)


def open_markdown(text: str) -> Document:
    """Parse a document. Raises `UnreadableFileError` if it or a paragraph is too long."""
    if sum(1 for _ in islice(_MAY_BE_BLOCK.finditer(text), MAX_BLOCKS + 1)) > MAX_BLOCKS:
        raise UnreadableFileError(
            f"a Markdown file may have {MAX_BLOCKS:,} headings, items, rows and blank lines"
        )
    front = _FRONT_MATTER.match(text)
    start = front.end() if front else 0
    return Parts([text[:start], *_parts(text[start:])])


def _parts(text: str) -> Iterator[str | Document]:
    lines = Lines(text)
    markdown = new_markdown()
    env: dict[str, object] = {}
    tokens = markdown.parse(text, env)
    reader = InlineReader(markdown, env)
    at = 0
    for before, token in pairwise([Token("", "", 0), *tokens]):
        found = lines.find(before, token)
        if found is None or found.start < at:
            continue
        raw = text[found.start : found.end]
        part: Document
        if token.type == "html_block":
            part = _HtmlBlock(raw, markdown)
        elif found.content.startswith(_FORMULA):
            continue
        elif len(found.content) > MAX_PARAGRAPH:
            line = 1 + text.count("\n", 0, found.start)
            raise UnreadableFileError(
                f"line {line}: a paragraph of Markdown may have {MAX_PARAGRAPH:,} characters"
            )
        else:
            part = _Paragraph(raw, found, reader)
        yield text[at : found.start]
        yield part
        at = found.end
    yield text[at:]


class _HtmlBlock(MarkupDocument):
    """A block of HTML; its first tag divides the text, like a block element."""

    def __init__(self, raw: str, markdown: MarkdownIt) -> None:
        self._raw = raw
        self._markdown = markdown
        first = _FIRST_TAG.match(raw)
        splitting = frozenset([first[1].lower()] if first else [])
        super().__init__(raw, "html", MarkupOptions(splitting=splitting))

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """Return the translation; the original HTML if it would no longer be one block."""
        written = super().with_translations(answers)
        made = [token.type for token in self._markdown.parse(written)]
        return written if made == ["html_block"] else self._raw


class _Segment:
    """The `text` between two hard line breaks, without its tags; `raw` is its source."""

    __slots__ = ("_escapes", "_with_emphasis", "_without", "is_tagged", "raw", "text")

    def __init__(self, raw: str, marks: Sequence[Mark], inline: Inline) -> None:
        self.raw = raw
        self._escapes = inline.escapes
        self._with_emphasis = TaggedText(_pieces(marks))
        self.text = self._with_emphasis.text
        self.is_tagged = self._with_emphasis.is_tagged
        plain = [mark for mark in marks if mark.name not in EMPHASIS]
        self._without = (
            self._with_emphasis if len(plain) == len(marks) else TaggedText(_pieces(plain))
        )

    def written(self, answer: Answer, *, strictly: bool, with_emphasis: bool) -> str:
        """Return the translation as Markdown, escaping all special characters or only some.

        A `_MAY_BREAK` replaces each space at which a line may end: before a letter, with which no
        block begins.
        """
        content = self._with_emphasis if with_emphasis else self._without
        characters = [_ALL if strictly else _FEW, *map(re.escape, self._escapes)]
        special = re.compile("|".join(characters))

        def escape(text: str) -> str:
            text = re.sub(r" (?=[^\W\d_])", _MAY_BREAK, text)
            return special.sub(lambda found: self._escapes.get(found[0], "\\" + found[0]), text)

        return content.with_translation(answer, escape)


class _Paragraph:
    """The content of a block. `raw`, its source, also has the prefixes of lines."""

    __slots__ = ("_parts", "_position", "_raw", "_reader")

    def __init__(self, raw: str, position: Position, reader: InlineReader) -> None:
        self._raw = raw
        self._position = position
        self._reader = reader
        self._parts = list(_segments(position.content, reader.read(position.content)))

    @property
    def _segments(self) -> list[_Segment]:
        segments = (part for part in self._parts if isinstance(part, _Segment))
        return [segment for segment in segments if any(map(str.isalpha, segment.text))]

    @property
    def texts(self) -> list[str]:
        return [segment.text for segment in self._segments]

    @property
    def tagged(self) -> list[bool]:
        return [segment.is_tagged for segment in self._segments]

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """Return the first variant that preserves the structure."""
        given = dict(zip(self._segments, answers, strict=True))
        if all(answer.text == segment.text for segment, answer in given.items()):
            return self._raw
        structure = self._reader.structure(self._position.content)
        for strictly, with_emphasis in ((False, True), (True, True), (True, False)):
            content = "".join(
                self._written(part, given, strictly=strictly, with_emphasis=with_emphasis)
                for part in self._parts
            )
            made = self._reader.structure(content)
            if made == structure or (not with_emphasis and made.others == structure.others):
                content = content.replace("|", "\\|") if self._position.is_cell else content
                return content.replace("\n", "\n" + self._position.prefix)
        return self._raw

    def _written(
        self,
        part: str | _Segment,
        given: dict[_Segment, Answer],
        *,
        strictly: bool,
        with_emphasis: bool,
    ) -> str:
        if isinstance(part, str):
            return part
        answer = given.get(part)
        if answer is None or answer.text == part.text:
            return part.raw
        answer = replace(answer, text=answer.text.replace("\n", " "))
        written = part.written(answer, strictly=strictly, with_emphasis=with_emphasis)
        if "\n" in part.raw:
            width = max(map(len, self._position.content.split("\n")))
            written = filled(written, width, _MAY_BREAK)
        written = written.replace(_MAY_BREAK, " ")
        if block := _BLOCK_START.match(written):
            return written[: block.end()] + "\\" + written[block.end() :]
        return written


def _segments(content: str, inline: Inline) -> Iterator[str | _Segment]:
    """Yield the segments and the breaks between them; breaks within tags are part of a segment."""
    run: list[Mark] = []
    start = depth = 0
    for mark, at in zip(inline.marks, inline.starts, strict=True):
        depth += (mark.kind == "open") - (mark.kind == "close")
        if mark.kind == "break" and not depth:
            yield _Segment(content[start:at], run, inline)
            yield mark.raw
            run, start = [], at + len(mark.raw)
        else:
            run.append(mark)
    yield _Segment(content[start:], run, inline)


def _pieces(marks: Sequence[Mark]) -> Iterator[Piece]:
    for mark in marks:
        if mark.kind == "break":
            yield Piece("void", mark.raw)
            yield Piece("text", " ")  # the words around it are separate
        else:
            yield Piece(
                mark.kind, mark.raw, [Reference(0, mark.reference)] if mark.reference else ()
            )
