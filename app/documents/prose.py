"""Plain text: lines wrapped at some column are joined to paragraphs.

A line is a separate text unless its paragraph was filled: if all lines are as long as their next
words allow, the breaks have no meaning, and the translation is filled again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.documents.line_breaks import filled
from app.text.document import Answer, Document, Parts, PlainText
from app.text.segmentation import LABEL

MIN_WIDTH, MAX_WIDTH = 40, 100
"""Columns at which text is wrapped; shorter lines are verse, longer ones paragraphs."""


def prose(text: str) -> Parts:
    """Return the paragraphs of a text that contain letters."""
    return Parts(_parts(text))


class Quoted:
    """A text that a file writes in a notation of its own, translated as prose."""

    __slots__ = ("_lines",)

    def __init__(self, value: str) -> None:
        self._lines = prose(value)

    @property
    def texts(self) -> list[str]:
        """Its lines or paragraphs."""
        return self._lines.texts

    @property
    def tagged(self) -> list[bool]:
        """Return False for each of them."""
        return self._lines.tagged


def _parts(text: str) -> Iterator[str | Document]:
    paragraph: list[str] = []
    for line in text.split("\n"):
        if paragraph and not _may_go_on(paragraph, line):
            yield from _read(paragraph)
            yield "\n"
            paragraph = []
        paragraph.append(line)
    yield from _read(paragraph)


def _may_go_on(paragraph: Sequence[str], line: str) -> bool:
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
    """Whether no line had room for the next line's first word, and a sentence spans lines."""
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
    """A single line."""

    __slots__ = ()

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """The translation, in one line."""
        return super().with_translations(answers).replace("\n", " ")


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

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """Return the translation in lines; the original lines if nothing was translated."""
        if [answer.text for answer in answers] == [self.text]:
            return self._raw
        lines = filled(super().with_translations(answers), self._width - len(self._indent))
        return self._lead + lines.replace("\n", "\n" + self._indent)
