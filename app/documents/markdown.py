"""Markdown (CommonMark with tables and strikethrough): paragraphs, headings, items and cells.

Code, link addresses, images, front matter, definitions and everything between blocks are kept. Each
translation is parsed again before it is used: if its structure differs from the paragraph's, it is
escaped, and as a last resort loses its emphasis.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.documents.line_breaks import filled
from app.documents.markdown_inline import (
    EMPHASIS,
    NOTE_LABEL,
    Inline,
    InlineReader,
    Mark,
    new_markdown,
)
from app.errors import UnreadableFileError
from app.text.document import Answer, Document, Parts
from app.text.markup import MarkupDocument, MarkupOptions
from app.text.tagged_text import Piece, TaggedText

MAX_PARAGRAPH = 30_000
"""Maximum code points of a paragraph; parsing time may grow with their square."""

_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n.*?\n\1[ \t]*(?:\n|\Z)", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\r|\n")
_FIRST_TAG = re.compile(r"\s*</?([A-Za-z][A-Za-z0-9-]*)")
_FOREIGN = re.compile(r"\$\$|:::")
_ALERT = re.compile(r"\[![A-Za-z]+\][^\n]*\n")
"""The first line of a GitHub alert."""

_FEW = r"\\|&(?=#?\w+;)"
_ALL = r"[\\`*_\[\]<>&~!$]"
_BLOCK_START = re.compile(
    r" {0,3}(?:\d{1,9}(?=[.)](?:\s|$))"
    r"|(?=#{1,6}(?:\s|$)|>|[-+*](?:\s|$)|~~~|:::|\$\$|[-=]+\s*$|(?:[-_*][ \t]*){3,}$"
    r"|\[(?!\^)[^\]]*\]:))"
)
_MAY_BREAK = "\ue004"
"""Replaces a space at which a line may end."""


def open_markdown(text: str) -> Document:
    """Parse a document. Raises `UnreadableFileError` if a paragraph is too long."""
    front = _FRONT_MATTER.match(text)
    start = front.end() if front else 0
    return Parts([text[:start], *_parts(text[start:])])


def _parts(text: str) -> Iterator[str | Document]:
    lines = _Lines(text)
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
        elif _FOREIGN.match(found.content):
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


@dataclass(frozen=True, slots=True)
class _Place:
    """Position of content in the document; `prefix` precedes its further lines."""

    content: str
    start: int
    end: int
    prefix: str = ""
    is_cell: bool = False


class _Lines:
    """The lines of a document, to locate what the parser extracted."""

    def __init__(self, text: str) -> None:
        self._text = text
        ends = list(_LINE_END.finditer(text))
        self._starts = [0, *(match.end() for match in ends)]
        self._ends = [*(match.start() for match in ends), len(text)]
        self._cell: tuple[int, int] = (-1, 0)

    def find(self, before: Token, token: Token) -> _Place | None:
        """Return the position of a token's content, if it occurs verbatim."""
        if token.map is None or not token.content:
            return None
        first, last = token.map
        start = self._starts[first]
        if token.type == "html_block":
            end = self._ends[last - 1]
            is_whole = self._text[start:end].rstrip() == token.content.rstrip()
            return _Place(token.content, start, end) if is_whole else None
        if token.type != "inline":
            return None
        if before.type in ("th_open", "td_open"):
            return self._find_cell(first, token.content)
        if before.type == "heading_open" and before.markup.startswith("#"):
            line = self._line(first)
            at = start + line.find(token.content, line.find(before.markup) + len(before.markup))
            return _Place(token.content, at, at + len(token.content)) if at >= start else None
        if head := _ALERT.match(token.content):
            return self._find_lines(first + 1, token.content[head.end() :])
        note = NOTE_LABEL.match(token.content)
        return self._find_lines(first, token.content[note.end() if note else 0 :])

    def _find_cell(self, number: int, content: str) -> _Place | None:
        line, start = self._line(number), self._starts[number]
        written = content.replace("|", "\\|")
        at = line.find(written, self._cell[1] if self._cell[0] == number else 0)
        if at < 0:
            return None
        self._cell = (number, at + len(written))
        return _Place(content, start + at, start + at + len(written), is_cell=True)

    def _find_lines(self, first: int, content: str) -> _Place | None:
        contents = content.split("\n")
        starts: list[int] = []
        for number, part in enumerate(contents, first):
            line = self._line(number).rstrip()
            if not line.endswith(part.rstrip()):
                return None
            starts.append(self._starts[number] + len(line) - len(part.rstrip()))
        prefix = self._text[self._starts[first + 1] : starts[1]] if len(starts) > 1 else ""
        return _Place(content, starts[0], starts[-1] + len(contents[-1]), prefix)

    def _line(self, number: int) -> str:
        return self._text[self._starts[number] : self._ends[number]]


class _HtmlBlock:
    """A block of HTML; its first tag divides the text, like a block element."""

    def __init__(self, raw: str, markdown: MarkdownIt) -> None:
        self._raw = raw
        self._markdown = markdown
        first = _FIRST_TAG.match(raw)
        splitting = frozenset([first[1].lower()] if first else [])
        self._document = MarkupDocument(raw, "html", MarkupOptions(splitting=splitting))
        self.texts = self._document.texts
        self.tagged = self._document.tagged

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """Return the translation; the original HTML if that would not be one block any more."""
        written = self._document.with_translations(answers)
        made = [token.type for token in self._markdown.parse(written)]
        return written if made == ["html_block"] else self._raw


class _Segment:
    """The text between two hard line breaks; `raw` is its source."""

    __slots__ = ("_escapes", "_with_emphasis", "_without", "raw")

    def __init__(self, raw: str, marks: Sequence[Mark], inline: Inline) -> None:
        self.raw = raw
        self._escapes = inline.escapes
        self._with_emphasis = TaggedText(_pieces(marks))
        plain = [mark for mark in marks if mark.name not in EMPHASIS]
        self._without = (
            self._with_emphasis if len(plain) == len(marks) else TaggedText(_pieces(plain))
        )

    @property
    def text(self) -> str:
        """The text without its tags."""
        return self._with_emphasis.text

    @property
    def is_tagged(self) -> bool:
        """Whether it has any."""
        return self._with_emphasis.is_tagged

    @property
    def is_translatable(self) -> bool:
        """Whether it has letters."""
        return any(map(str.isalpha, self.text))

    def written(self, answer: Answer, *, strictly: bool, with_emphasis: bool) -> str:
        """Return the translation as Markdown, escaping all special characters or only some.

        A `_MAY_BREAK` replaces each space at which a line may end.
        """
        content = self._with_emphasis if with_emphasis else self._without
        characters = [_ALL if strictly else _FEW, *map(re.escape, self._escapes)]
        special = re.compile("|".join(characters))
        # A line that begins with a letter does not begin a block.

        def escape(text: str) -> str:
            text = re.sub(r" (?=[^\W\d_])", _MAY_BREAK, text)
            return special.sub(lambda found: self._escapes.get(found[0], "\\" + found[0]), text)

        return content.with_translation(answer, escape)


class _Paragraph:
    """The content of a block. `raw`, its source, also has the prefixes of lines."""

    __slots__ = ("_parts", "_place", "_raw", "_reader")

    def __init__(self, raw: str, place: _Place, reader: InlineReader) -> None:
        self._raw = raw
        self._place = place
        self._reader = reader
        content = place.content
        self._parts = list(_segments(content, reader.read(content)))

    @property
    def _segments(self) -> list[_Segment]:
        return [part for part in self._parts if isinstance(part, _Segment) and part.is_translatable]

    @property
    def texts(self) -> list[str]:
        """Those of its segments with letters."""
        return [segment.text for segment in self._segments]

    @property
    def tagged(self) -> list[bool]:
        """Whether each of these has tags."""
        return [segment.is_tagged for segment in self._segments]

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """Return the first variant that preserves the structure."""
        given = dict(zip(self._segments, answers, strict=True))
        if all(answer.text == segment.text for segment, answer in given.items()):
            return self._raw
        structure = self._reader.structure(self._place.content)
        for strictly, with_emphasis in ((False, True), (True, True), (True, False)):
            content = "".join(
                self._written(part, given, strictly=strictly, with_emphasis=with_emphasis)
                for part in self._parts
            )
            made = self._reader.structure(content)
            if made == structure or (not with_emphasis and made.others == structure.others):
                content = content.replace("|", "\\|") if self._place.is_cell else content
                return content.replace("\n", "\n" + self._place.prefix)
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
        answer = Answer(answer.text.replace("\n", " "), answer.links)
        written = part.written(answer, strictly=strictly, with_emphasis=with_emphasis)
        if "\n" in part.raw:
            width = max(map(len, self._place.content.split("\n")))
            written = filled(written, width, _MAY_BREAK)
        written = written.replace(_MAY_BREAK, " ")
        if block := _BLOCK_START.match(written):
            return written[: block.end()] + "\\" + written[block.end() :]
        return written


def _segments(content: str, inline: Inline) -> Iterator[str | _Segment]:
    """Yield the segments and the breaks between them; breaks within tags are part of a segment."""
    run: list[Mark] = []
    start = depth = 0
    for mark, place in zip(inline.marks, inline.starts, strict=True):
        depth += (mark.kind == "open") - (mark.kind == "close")
        if mark.kind == "break" and not depth:
            yield _Segment(content[start:place], run, inline)
            yield mark.raw
            run, start = [], place + len(mark.raw)
        else:
            run.append(mark)
    yield _Segment(content[start:], run, inline)


def _pieces(marks: Sequence[Mark]) -> Iterator[Piece]:
    for mark in marks:
        if mark.kind == "break":
            yield Piece("void", mark.raw)
            yield Piece("text", " ")  # the words around it are separate
        else:
            yield Piece(mark.kind, mark.raw)
