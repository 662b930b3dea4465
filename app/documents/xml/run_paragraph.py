"""Paragraphs of Office Open XML: runs joined to one text; formatting follows the words.

The most frequent formatting of a paragraph is the default of its text; runs with other formatting,
links and other elements around runs are treated like elements in markup. A tab or line break ends a
text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from app.documents.xml.namespaces import in_document
from app.documents.xml.paragraphs import MAX_NESTED, paragraphs, raw_of
from app.documents.xml.runs import Item, Vocabulary, items
from app.text.document import Answer, Document, Parts, translated
from app.text.markup.document import XML_ESCAPES
from app.text.markup.tagged_text import Piece, TaggedText
from app.text.markup.tokens import Token, end_of_element, unmatched, xml_tokens

_MARK = re.compile("\ue002(\\d+)\ue003")
"""Replaces tags while they are inserted into a translation; no text contains these characters."""

_MARKS = re.compile("[\ue002\ue003]")


def run_paragraphs(tokens: Iterable[Token], names: Vocabulary, kept: Container[str] = ()) -> Parts:
    """Parse the paragraphs of a part, except those whose text is in `kept`.

    Raises `UnreadableFileError` if one is too long.
    """
    own_names, tokens = in_document(names, tokens)
    return Parts(_parts(tokens, own_names, MAX_NESTED, kept))


def _parts(
    tokens: Iterable[Token], names: Vocabulary, levels: int, kept: Container[str] = ()
) -> Iterator[str | Document]:
    """Parse paragraphs that are nested `levels` deep at most."""

    def read(row: list[Token]) -> str | Document:
        paragraph = _Paragraph(row, names, levels)
        return paragraph.raw if "".join(paragraph.texts) in kept else paragraph

    return paragraphs(tokens, names.paragraphs, read)


@dataclass(frozen=True, slots=True)
class _Fixed:
    """Content that stays in place between texts; `nested` may contain paragraphs."""

    raw: str
    nested: Parts | None = None


class _Paragraph:
    """A paragraph with its texts, followed by those of its text boxes.

    It is parsed again for its translation, since its tokens take 20 times its size.
    """

    __slots__ = ("_levels", "_names", "raw", "tagged", "texts")

    def __init__(self, row: Sequence[Token], names: Vocabulary, levels: int) -> None:
        content = _Content(row, names, levels)
        self._names = names
        self._levels = levels
        self.raw = content.raw
        self.texts = content.texts
        self.tagged = content.tagged

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """Return the paragraph; the original if nothing was translated."""
        if [answer.text for answer in answers] == self.texts:
            return self.raw
        row = list(xml_tokens(self.raw))
        return _Content(row, self._names, self._levels).with_translations(answers)


class _Content:
    """The parts of a paragraph."""

    def __init__(self, row: Sequence[Token], names: Vocabulary, levels: int) -> None:
        self.raw = raw_of(row)
        self._names = names
        self._levels = levels - 1
        front = end_of_element(row, 1) if row[1].name == names.front else 1
        self._opening = raw_of(row[:front])
        self._closing = row[-1].raw
        self._nested: list[Parts] = []
        self._parts = list(self._cut(items(row[front:-1], names)))
        self._texts = [part for part in self._parts if isinstance(part, _Text)]
        self.texts = [part.text for part in self._texts]
        self.tagged = [part.is_tagged for part in self._texts]
        for nested in self._nested:
            self.texts += nested.texts
            self.tagged += nested.tagged

    def with_translations(self, answers: Sequence[Answer]) -> str:
        given = dict(zip(self._texts, answers, strict=False))
        of_nested = translated(self._nested, answers[len(self._texts) :])
        inner = dict(zip(self._nested, of_nested, strict=True))
        content = "".join(
            part.with_translation(given[part], inner)
            if isinstance(part, _Text)
            else _fixed(part, inner)
            for part in self._parts
        )
        return self._opening + content + self._closing

    def _cut(self, row: Sequence[Item]) -> Iterator[_Text | _Fixed]:
        run: list[Item] = []
        for item in row:
            if item.kind == "break":
                yield from self._read(run)
                yield self._fix(item)
                run = []
            else:
                run.append(item)
        yield from self._read(run)

    def _read(self, run: Sequence[Item]) -> Iterator[_Text | _Fixed]:
        """Yield one text, or several between tags whose partner is beyond a break."""
        start = 0
        for at in [*sorted(unmatched(run)), len(run)]:
            between = run[start:at]
            if any(item.kind == "text" and any(map(str.isalpha, item.text)) for item in between):
                yield _Text(between, [self._fix(item) for item in between], self._names)
            else:
                yield from map(self._fix, between)
            yield from map(self._fix, run[at : at + 1])
            start = at + 1

    def _fix(self, item: Item) -> _Fixed:
        if not (self._levels and any(one.name in self._names.paragraphs for one in item.inner)):
            return _Fixed(item.raw)
        # An object is inside a run, after the run's properties.
        inner = raw_of(item.inner)
        before, _, behind = item.raw.rpartition(inner)
        nested = Parts([before, *_parts(item.inner, self._names, self._levels), behind])
        self._nested.append(nested)
        return _Fixed(item.raw, nested)


def _fixed(part: _Fixed, inner: dict[Parts, str]) -> str:
    return part.raw if part.nested is None else inner[part.nested]


@dataclass(frozen=True, slots=True)
class _Change:
    """The meaning of a mark: source to write, and the run properties of the text after it."""

    raw: str = ""
    fixed: _Fixed | None = None
    look: str | None = None
    is_end: bool = False


class _Text:
    """The text between two breaks."""

    def __init__(self, row: Sequence[Item], fixed: Sequence[_Fixed], names: Vocabulary) -> None:
        self._fixed = fixed
        self._names = names
        self._changes: list[_Change] = []
        self._base = _usual_look(row, 0)
        self._content = TaggedText(self._pieces(row))
        self.text = self._content.text
        self.is_tagged = self._content.is_tagged

    def with_translation(self, answer: Answer, inner: dict[Parts, str]) -> str:
        """Return the translation in runs; the original if nothing was translated."""
        if answer.text == self.text:
            return "".join(_fixed(part, inner) for part in self._fixed)
        marked = self._content.with_translation(answer, lambda text: _MARKS.sub("", text))
        return "".join(self._runs(marked, inner))

    def _pieces(self, row: Sequence[Item]) -> Iterator[Piece]:
        """Yield pieces: text formatted like its surroundings is plain, other text an element."""
        looks = [self._base]
        for look, alike in groupby(
            enumerate(row), lambda pair: pair[1].properties if pair[1].kind == "text" else None
        ):
            if look is not None:
                text = _MARKS.sub("", "".join(item.text for _, item in alike))
                is_plain = look == looks[-1] or not text.strip()
                if not is_plain:
                    yield Piece("open", self._mark(_Change(look=look)))
                yield Piece("text", text)
                if not is_plain:
                    yield Piece("close", self._mark(_Change(is_end=True)))
                continue
            for at, item in alike:
                if item.kind == "open":
                    looks.append(_usual_look(row, at + 1))
                    yield Piece("open", self._mark(_Change(item.raw, look=looks[-1])))
                elif item.kind == "close":
                    looks.pop()
                    yield Piece("close", self._mark(_Change(item.raw, is_end=True)))
                else:
                    mark = self._mark(_Change(fixed=self._fixed[at]))
                    yield Piece("atom" if item.kind == "atom" else "void", mark)

    def _mark(self, change: _Change) -> str:
        self._changes.append(change)
        return f"\ue002{len(self._changes) - 1}\ue003"

    def _runs(self, marked: str, inner: dict[Parts, str]) -> Iterator[str]:
        looks = [self._base]
        for at, part in enumerate(_MARK.split(marked)):
            if at % 2 == 0:
                text = " ".join(re.split("[\t\n]", part)).translate(XML_ESCAPES)
                yield self._names.written(text, looks[-1])
                continue
            change = self._changes[int(part)]
            yield change.raw
            if change.fixed:
                yield _fixed(change.fixed, inner)
            if change.look is not None:
                looks.append(change.look)
            if change.is_end:
                looks.pop()


def _usual_look(row: Sequence[Item], start: int) -> str:
    """Return the properties of most of an element's text, without nested elements."""
    n_characters: Counter[str] = Counter()
    level = 0
    for item in islice(row, start, None):
        level += (item.kind == "open") - (item.kind == "close")
        if level < 0:
            break
        if item.kind == "text" and not level:
            n_characters[item.properties] += len(item.text.strip())
    return max(n_characters, key=n_characters.__getitem__, default="")
