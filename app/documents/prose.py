"""Plain text: lines wrapped at some column are joined to paragraphs.

A line is a separate text unless its paragraph was filled: if all lines are as long as their next
words allow, the breaks have no meaning, and the translation is filled again.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.documents.line_breaks import filled
from app.text.document import Answer, Document, Parts, PlainText
from app.text.segmentation import LABEL

MIN_WIDTH, MAX_WIDTH = 40, 100
"""Columns at which text is wrapped; shorter lines are verse, longer ones paragraphs."""


_CODE = re.compile(r"[\d_/\\@#$:=]|[^\W\d_]\.\S|[a-z][A-Z]")


def is_code(text: str) -> bool:
    """Whether it is one word that looks like `btn_primary`, `img/logo.png`, `onClick` or `v1.2`."""
    return len(text.split()) == 1 and _CODE.search(text) is not None


class Prose(Parts):
    """The paragraphs of a text that contain letters."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        super().__init__(_parts(text))


def _parts(text: str) -> Iterator[str | Document]:
    paragraph: list[str] = []
    for line in text.split("\n"):
        if paragraph and not _may_continue(paragraph, line):
            yield from _read(paragraph)
            yield "\n"
            paragraph = []
        paragraph.append(line)
    yield from _read(paragraph)


def _may_continue(paragraph: Sequence[str], line: str) -> bool:
    if not line.strip() or not paragraph[-1].strip() or LABEL.match(line.lstrip()):
        return False
    return _indent(line) in (_indent(paragraph[-1]), len(_lead(paragraph[0])))


def _read(lines: Sequence[str]) -> Iterator[str | Document]:
    if is_filled(lines):
        yield _Filled(lines)
        return
    for number, line in enumerate(lines):
        if number:
            yield "\n"
        yield Line(line) if any(map(str.isalpha, line)) else line


def is_filled(lines: Sequence[str]) -> bool:
    """Whether each next line's first word would not have fitted, and a sentence spans lines."""
    width = max(map(len, lines))
    return (
        len(lines) > 1
        and MIN_WIDTH <= width <= MAX_WIDTH
        and all(len(line) + 1 + len(after.split()[0]) > width for line, after in pairwise(lines))
        and any(after.lstrip()[:1].islower() for after in lines[1:])
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _lead(line: str) -> str:
    """Indentation and label."""
    indent = line[: _indent(line)]
    label = LABEL.match(line, len(indent))
    return indent + (label[0] if label else "")


class Line(PlainText):
    """A text whose translation is one line."""

    __slots__ = ()

    def written(self, answer: Answer) -> str:
        return answer.text.replace("\n", " ")


class _Filled(Line):
    """Lines that form one text, filled to the length of the longest."""

    __slots__ = ("_indent", "_lead", "_raw", "_width")

    def __init__(self, lines: Sequence[str]) -> None:
        self._raw = "\n".join(lines)
        self._width = max(map(len, lines))
        self._lead = _lead(lines[0])
        self._indent = lines[1][: _indent(lines[1])]
        first = lines[0][len(self._lead) :]
        super().__init__(" ".join([first.rstrip(), *(line.strip() for line in lines[1:])]))

    def written(self, answer: Answer) -> str:
        """Return the translation in lines; the original lines if nothing was translated."""
        if answer.text == self.text:
            return self._raw
        lines = filled(super().written(answer), self._width - len(self._indent))
        return self._lead + lines.replace("\n", "\n" + self._indent)
