"""SubRip and WebVTT subtitles: numbers, times and each cue's number of lines are kept.

A sentence that spans several cues is one text. Its translation is cut between words so that each
cue keeps its share of the characters, and so of the time to read it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.documents.line_breaks import apportioned
from app.documents.prose import Line
from app.errors import UnreadableFileError
from app.text.document import Answer, Document, Parts, SingleText
from app.text.markup.document import XML_ESCAPES
from app.text.markup.escaped_tags import unescaped
from app.text.markup.tagged_text import Piece, TaggedText

MAX_CUES = 6
"""Maximum cues of one text; a longer sequence is not treated as one sentence."""

_TIME = r"\s*(?:\d+:)?\d\d:\d\d[,.]\d{1,3}"
_TIMES = re.compile(rf"{_TIME}\s*-->{_TIME}.*")
_SPEAKER = re.compile(r"\s*[-–—]\s*(?=\S)")
_ENDS = re.compile(r"[.!?…:;♪*\])»”\"]\s*$")


def _harmless(text: str) -> str:
    """Remove what a player would read as times or tags."""
    return re.sub(r"<(?=/?[A-Za-z])|\{(?=\\)", "", text.replace("-->", "→"))


@dataclass(frozen=True)
class _Syntax:
    """A format: how tags look, and how text is read and written."""

    name: str
    tag: re.Pattern[str]
    read: Callable[[str], str]
    write: Callable[[str], str]


_SUBRIP = _Syntax(
    "SubRip",
    re.compile(r"</?(?:[bisu]|font)\b[^<>]*>|\{\\[^{}]*\}", re.IGNORECASE),
    str,
    _harmless,
)
_WEBVTT = _Syntax(
    "WebVTT",
    re.compile(r"</?(?:[bciuv]|lang|ruby|rt)\b[^<>]*>|<[\d:.]+>"),
    unescaped,
    lambda text: text.translate(XML_ESCAPES),
)


@dataclass(frozen=True, slots=True)
class _Cue:
    """The lines before the text (number, times), the tags around it, and its lines."""

    syntax: _Syntax
    before: str
    opening: str
    lines: list[str]
    closing: str

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def raw(self) -> str:
        return self.before + self.opening + self.text + self.closing

    @property
    def is_plain(self) -> bool:
        """Whether it has one speaker and no tags within."""
        speaks = any(map(_SPEAKER.match, self.lines))
        has_tags = self.syntax.tag.search(self.text)
        return not (speaks or has_tags) and any(map(str.isalpha, self.text))

    def runs_on(self, following: _Cue) -> bool:
        """Whether the sentence continues in the next cue."""
        return (
            self.is_plain
            and following.is_plain
            and (self.opening, self.closing) == (following.opening, following.closing)
            and not _ENDS.search(self.text)
            and following.text.lstrip()[:1].islower()
        )


def open_subtitles(text: str) -> Document:
    """Parse the cues of SubRip. Raises `UnreadableFileError`."""
    return Parts(_parts(text, _SUBRIP))


def open_web_subtitles(text: str) -> Document:
    """Parse the cues of WebVTT; other blocks are copied. Raises `UnreadableFileError`."""
    if not re.match(r"WEBVTT(?:\s|\Z)", text):
        raise UnreadableFileError("line 1: not WebVTT: expected WEBVTT")
    return Parts(_parts(text, _WEBVTT))


def _parts(text: str, syntax: _Syntax) -> Iterator[str | Document]:
    sentence: list[_Cue] = []
    for cue in _cues(text, syntax):
        if isinstance(cue, str):  # the end
            yield from _read(sentence)
            yield cue
            return
        if sentence and not (sentence[-1].runs_on(cue) and len(sentence) < MAX_CUES):
            yield from _read(sentence)
            sentence = []
        sentence.append(cue)


def _cues(text: str, syntax: _Syntax) -> Iterator[_Cue | str]:
    """Yield the cues, and the text after the last."""
    lines = text.split("\n")
    at = start = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        if syntax is _SUBRIP:
            at += lines[at].strip().isdecimal()
        elif not _TIMES.fullmatch(lines[at]):
            at += 1  # the identifier of a cue, or the head, a style or a note
        if at == len(lines) or not _TIMES.fullmatch(lines[at]):
            if syntax is _WEBVTT:
                while at < len(lines) and lines[at].strip():
                    at += 1
                continue
            raise UnreadableFileError(
                f"line {at + 1}: not SubRip: expected the times of a cue, "
                "such as 00:00:01,000 --> 00:00:02,500"
            )
        first = at = at + 1
        while at < len(lines) and lines[at].strip() and not _is_head(lines, at, syntax):
            at += 1
        if first == at:
            continue
        before = "\n".join([*([""] if start else []), *lines[start:first], ""])
        yield _cue(syntax, before, "\n".join(lines[first:at]))
        start = at
    yield "\n".join([*([""] if start else []), *lines[start:]])


def _is_head(lines: Sequence[str], at: int, syntax: _Syntax) -> bool:
    """Whether a cue begins at a line, although no empty line is before it."""
    if syntax is _SUBRIP and lines[at].strip().isdecimal() and at + 1 < len(lines):
        at += 1
    return _TIMES.fullmatch(lines[at]) is not None


def _cue(syntax: _Syntax, before: str, content: str) -> _Cue:
    """Separate the tags at the start and end from the text."""
    tags = list(syntax.tag.finditer(content))
    start, end = 0, len(content)
    for tag in tags:
        if tag.start() == start:
            start = tag.end()
    for tag in reversed(tags):
        if tag.end() == end and tag.start() >= start:
            end = tag.start()
    return _Cue(syntax, before, content[:start], content[start:end].split("\n"), content[end:])


def _read(cues: list[_Cue]) -> Iterator[str | Document]:
    if not cues:
        return
    [cue, *others] = cues
    if others or cue.is_plain:
        yield _Utterance(cues)
        return
    yield cue.before + cue.opening
    if cue.syntax.tag.search(cue.text):
        yield _Tagged(cue.lines, cue.syntax)
    else:
        for number, line in enumerate(cue.lines):
            speaker = _SPEAKER.match(line)
            lead = speaker[0] if speaker else ""
            yield ("\n" if number else "") + lead
            rest = line[len(lead) :]
            yield _Spoken(rest, cue.syntax) if any(map(str.isalpha, rest)) else rest
    yield cue.closing


class _Utterance(SingleText):
    """A text that spans one or more cues."""

    __slots__ = ("_cues", "text")

    def __init__(self, cues: Sequence[_Cue]) -> None:
        self._cues = tuple(cues)
        text = " ".join(line.strip() for cue in cues for line in cue.lines)
        self.text = cues[0].syntax.read(text)

    def written(self, answer: Answer) -> str:
        """Return the translation by cue; cues beyond the number of words get an ellipsis."""
        if answer.text == self.text:
            return "".join(cue.raw for cue in self._cues)
        text = answer.text.replace("\n", " ")
        write = self._cues[0].syntax.write
        shares = apportioned(text, [len(cue.text) for cue in self._cues])
        shares += ["…"] * (len(self._cues) - len(shares))
        return "".join(
            cue.before
            + cue.opening
            + write("\n".join(apportioned(share, [len(line) for line in cue.lines])))
            + cue.closing
            for cue, share in zip(self._cues, shares, strict=True)
        )


class _Spoken(Line):
    """A line of one of several speakers."""

    __slots__ = ("_raw", "_syntax")

    def __init__(self, raw: str, syntax: _Syntax) -> None:
        super().__init__(syntax.read(raw))
        self._raw = raw
        self._syntax = syntax

    def written(self, answer: Answer) -> str:
        if answer.text == self.text:
            return self._raw
        return self._syntax.write(super().written(answer))


class _Tagged(SingleText):
    """A cue with tags within its text."""

    __slots__ = ("_content", "_raw", "_shares", "_syntax", "is_tagged", "text")

    def __init__(self, lines: Sequence[str], syntax: _Syntax) -> None:
        self._raw = "\n".join(lines)
        self._syntax = syntax
        self._shares = [len(syntax.tag.sub("", line)) for line in lines]
        self._content = TaggedText(_pieces(" ".join(line.strip() for line in lines), syntax))
        self.text = self._content.text
        self.is_tagged = self._content.is_tagged

    def written(self, answer: Answer) -> str:
        """Return the translation with the tags, in the same number of lines."""
        if answer.text == self.text:
            return self._raw
        line = answer.text.replace("\n", " ")
        lines = "\n".join(apportioned(line, self._shares))
        text = lines if len(lines) == len(line) else line  # links refer to positions in it
        return self._content.with_translation(replace(answer, text=text), self._syntax.write)


def _pieces(text: str, syntax: _Syntax) -> Iterator[Piece]:
    """Yield tags and the text between them; tags without a partner have no content."""
    tags = list(syntax.tag.finditer(text))
    names = [re.sub(r"[</>\s.].*", "", tag[0].lstrip("</")).lower() for tag in tags]
    kinds: list[Literal["open", "close", "void"]] = ["void"] * len(tags)
    opened: list[int] = []
    for at, tag in enumerate(tags):
        if tag[0].startswith("</"):
            if opened and names[opened[-1]] == names[at]:
                kinds[opened.pop()], kinds[at] = "open", "close"
        elif tag[0].startswith("<"):
            opened.append(at)
    at = 0
    for tag, kind in zip(tags, kinds, strict=True):
        yield Piece("text", syntax.read(text[at : tag.start()]))
        yield Piece(kind, tag[0])
        at = tag.end()
    yield Piece("text", syntax.read(text[at:]))
