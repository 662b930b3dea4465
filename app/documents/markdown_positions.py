"""Locates in a Markdown document what the parser extracted from it."""

import re
from dataclasses import dataclass

from markdown_it.token import Token

from app.documents.markdown_inline import NOTE_LABEL

_LINE_END = re.compile(r"\r\n|\r|\n")
_ALERT = re.compile(r"\[![A-Za-z]+\][^\n]*\n")
"""The first line of a GitHub alert."""


@dataclass(frozen=True, slots=True)
class Position:
    """The span of content in the document; `prefix` precedes its further lines."""

    content: str
    start: int
    end: int
    prefix: str = ""
    is_cell: bool = False


class Lines:
    """The lines of a document, to locate what the parser extracted."""

    def __init__(self, text: str) -> None:
        self._text = text
        ends = list(_LINE_END.finditer(text))
        self._starts = [0, *(match.end() for match in ends)]
        self._ends = [*(match.start() for match in ends), len(text)]
        self._cell: tuple[int, int] = (-1, 0)

    def find(self, before: Token, token: Token) -> Position | None:
        """Return the position of a token's content, if it occurs verbatim."""
        if token.map is None or not token.content:
            return None
        first, last = token.map
        start = self._starts[first]
        if token.type == "html_block":
            end = self._ends[last - 1]
            is_whole = self._text[start:end].rstrip() == token.content.rstrip()
            return Position(token.content, start, end) if is_whole else None
        if token.type != "inline":
            return None
        if before.type in ("th_open", "td_open"):
            return self._find_cell(first, token.content)
        if before.type == "heading_open" and before.markup.startswith("#"):
            line = self._line(first)
            at = start + line.find(token.content, line.find(before.markup) + len(before.markup))
            return Position(token.content, at, at + len(token.content)) if at >= start else None
        if head := _ALERT.match(token.content):
            return self._find_lines(first + 1, token.content[head.end() :])
        note = NOTE_LABEL.match(token.content)
        return self._find_lines(first, token.content[note.end() if note else 0 :])

    def _find_cell(self, number: int, content: str) -> Position | None:
        line, start = self._line(number), self._starts[number]
        written = content.replace("|", "\\|")
        at = line.find(written, self._cell[1] if self._cell[0] == number else 0)
        if at < 0:
            return None
        self._cell = (number, at + len(written))
        return Position(content, start + at, start + at + len(written), is_cell=True)

    def _find_lines(self, first: int, content: str) -> Position | None:
        contents = content.split("\n")
        starts: list[int] = []
        for number, part in enumerate(contents, first):
            line = self._line(number).rstrip()
            if not line.endswith(part.rstrip()):
                return None
            starts.append(self._starts[number] + len(line) - len(part.rstrip()))
        prefix = self._text[self._starts[first + 1] : starts[1]] if len(starts) > 1 else ""
        return Position(content, starts[0], starts[-1] + len(contents[-1]), prefix)

    def _line(self, number: int) -> str:
        return self._text[self._starts[number] : self._ends[number]]
