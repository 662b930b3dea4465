"""Parses a paragraph of Office Open XML (ECMA-376 part 1, §17.3, §18.4 and §21.1.2) to a flat list.

Runs are split into text and other content, each of which may be in a separate run. Runs that were
split by proofing marks and revisions can be joined without loss.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from app.documents.xml.namespaces import Names
from app.documents.xml.paragraphs import raw_of
from app.text.markup.document import XML_ESCAPES
from app.text.markup.escaped_tags import unescaped
from app.text.markup.tokens import Token, end_of_element

ItemKind = Literal["text", "open", "close", "void", "atom", "break"]


@dataclass(frozen=True)
class Vocabulary(Names):
    """The names of a format's elements.

    front       the properties of a paragraph, before its runs
    containers  elements around runs
    breaks      elements that end a text; they stay in place
    atoms       elements that count as a word
    proofing    parts of a run's properties that the translation does not have
    preserves   whether outer spaces of a text count only with xml:space
    has_lines   whether line feeds in a text are line breaks
    """

    run: str
    text: str
    properties: str
    front: str = ""
    containers: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    breaks: frozenset[str] = frozenset()
    atoms: frozenset[str] = frozenset()
    proofing: re.Pattern[str] = re.compile("(?!)")
    preserves: bool = False
    has_lines: bool = False

    def written(self, text: str, properties: str) -> str:
        """Return a run with an escaped text; only the text if `properties` is `NO_RUN`."""
        if not text:
            return ""
        bare = f"<{self.text}{_PRESERVE * self.preserves}>{text}</{self.text}>"
        return bare if properties == NO_RUN else f"<{self.run}>{properties}{bare}</{self.run}>"


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


NO_RUN = "no run"
"""The properties of a text that is not in a run, as that of most cells."""

_PRESERVE = ' xml:space="preserve"'

WORD = Vocabulary(
    _names("w:p"), "w:r", "w:t", "w:rPr", "w:pPr",
    containers=_names("w:hyperlink w:ins w:moveTo w:smartTag w:customXml w:dir w:bdo"),
    dropped=_names("w:proofErr w:lastRenderedPageBreak"),
    breaks=_names("w:br w:cr w:tab w:ptab m:oMathPara"),
    atoms=_names("m:oMath w:fldSimple"),
    proofing=re.compile(r"<(?:[^\s<>:]+:)?(?:lang|noProof)\b[^>]*/>"),
    preserves=True,
)  # fmt: skip
DRAWING = Vocabulary(
    _names("a:p"), "a:r", "a:t", "a:rPr", "a:pPr",
    breaks=_names("a:br a:endParaRPr"),
    atoms=_names("a:fld"),
    proofing=re.compile(r"""\s(?:lang|altLang|dirty|err|noProof|smtClean)="[^"]*\""""),
)  # fmt: skip
SHEET = Vocabulary(
    _names("si is"), "r", "t", "rPr",
    breaks=_names("rPh phoneticPr"), preserves=True, has_lines=True,
)  # fmt: skip

_LINE_END = re.compile(r"((?:\r|_x000D_)?\n|_x000D_)", re.IGNORECASE)
"""In cells; Excel writes a carriage return in this way (ECMA-376 part 1, §22.9.2.19)."""

_CHARACTERS = {"noBreakHyphen": "\u2011", "softHyphen": "\u00ad"}
_FIELD = re.compile(
    r"""<(?:[^\s<>:]+:)?fldChar\b[^>]*\bfldCharType\s*=\s*["'](begin|separate|end)"""
)
_LINK = re.compile(r"<(?:[^\s<>:]+:)?instrText\b[^>]*>\s*HYPERLINK\b")


MAX_NESTED = 10
"""Maximum nesting of links, revisions and fields; deeper content is not translated."""


@dataclass(frozen=True, slots=True)
class Item:
    """A part of a paragraph.

    raw         the source if nothing was translated; complete runs, except for open and close
    text        for text, unescaped
    properties  of a text's run: <w:rPr>…</w:rPr> without proofing marks
    inner       tokens of an object that may contain paragraphs
    """

    kind: ItemKind
    raw: str
    name: str = ""
    text: str = ""
    properties: str = ""
    inner: tuple[Token, ...] = ()


def items(row: Sequence[Token], names: Vocabulary) -> list[Item]:
    """Return the content of a paragraph without its own tags and properties."""
    return _fields(list(_items(row, names, MAX_NESTED)), MAX_NESTED)


def _local(token: Token) -> str:
    return token.name.rpartition(":")[2]


def _items(row: Sequence[Token], names: Vocabulary, levels: int) -> Iterator[Item]:
    """Parse elements, which may contain `levels - 1` others."""
    at = 0
    while at < len(row):
        token = row[at]
        end = end_of_element(row, at)
        element = row[at:end]
        at = end
        if levels and token.name in names.containers and token.kind == "open":
            yield Item("open", token.raw, token.name)
            yield from _items(element[1:-1], names, levels - 1)
            yield Item("close", element[-1].raw, token.name)
            continue
        if levels and _local(token) == "sdt":
            yield from _content_control(element, names, levels)
            continue
        raw = raw_of(element)
        if token.kind not in ("open", "void"):
            if raw.strip():
                yield Item("void", raw)
        elif token.name in names.dropped:
            continue
        elif token.name == names.run:
            yield from _run(element, names)
        elif token.name == names.text:
            yield from _texts(raw, _text(element, names), NO_RUN, names)
        elif token.name in names.atoms:
            yield Item("atom", raw)
        elif token.name in names.breaks:
            yield Item("break", raw)
        else:
            yield Item("void", raw, inner=tuple(element))


def _content_control(element: Sequence[Token], names: Vocabulary, levels: int) -> Iterator[Item]:
    """Parse <w:sdt>, whose content is between its properties and its end."""
    for at, token in enumerate(element):
        if _local(token) == "sdtContent" and token.kind == "open":
            end = end_of_element(element, at)
            yield Item("open", raw_of(element[: at + 1]), "w:sdt")
            yield from _items(element[at + 1 : end - 1], names, levels - 1)
            yield Item("close", raw_of(element[end - 1 :]), "w:sdt")
            return
    yield Item("void", raw_of(element))


def _run(element: Sequence[Token], names: Vocabulary) -> Iterator[Item]:
    """Yield the content of a run, each part with the run's properties."""
    written_properties = properties = ""
    at = 1
    while at < len(element) - 1:
        token = element[at]
        end = end_of_element(element, at)
        child = element[at:end]
        raw = raw_of(child)
        at = end
        whole = f"<{names.run}>{written_properties}{raw}</{names.run}>"
        if token.name == names.properties:
            written_properties = raw
            properties = names.proofing.sub("", raw)
            if re.fullmatch(rf"<{token.name}\s*(?:/>|>(?:</{token.name}>)?)", properties):
                properties = ""
        elif token.name == names.text or _local(token) in _CHARACTERS:
            text = _CHARACTERS.get(_local(token)) or _text(child, names)
            yield from _texts(whole, text, properties, names)
        elif token.name in names.breaks:
            yield Item("break", whole)
        elif raw.strip() and token.name not in names.dropped:
            yield Item("void", whole, inner=tuple(child))


def _text(element: Sequence[Token], names: Vocabulary) -> str:
    """Return the text of <t>; outer spaces may count only with xml:space."""
    text = unescaped(raw_of(element[1:-1]))
    counts = not names.preserves or _PRESERVE in element[0].raw
    return text if counts else text.strip()


def _texts(raw: str, text: str, properties: str, names: Vocabulary) -> Iterator[Item]:
    """Yield a text, or its lines in runs of their own."""
    lines = _LINE_END.split(text) if names.has_lines else [text]
    if len(lines) == 1:
        if text:
            yield Item("text", raw, text=text, properties=properties)
        return
    properties = "" if properties == NO_RUN else properties
    for number, line in enumerate(lines):
        if line:
            kind: ItemKind = "break" if number % 2 else "text"
            written = names.written(line.translate(XML_ESCAPES), properties)
            yield Item(kind, written, text=line, properties=properties)


def _fields(row: list[Item], levels: int) -> list[Item]:
    """Join every complete field: a link keeps its text, all others become a word.

    Tags of fields that begin or end in another paragraph stay in place.
    """
    ends = _ends_of_fields(row)
    found: list[Item] = []
    at = 0
    while at < len(row):
        item = row[at]
        if at in ends:
            found += _field(row[at : ends[at]], levels)
            at = ends[at]
            continue
        found.append(Item("break", item.raw, inner=item.inner) if _state(item) else item)
        at += 1
    return found


def _ends_of_fields(row: Sequence[Item]) -> dict[int, int]:
    """Map the start of each field to the position after its end, if at the same depth."""
    ends: dict[int, int] = {}
    opened: list[tuple[int, int]] = []
    level = 0
    for at, item in enumerate(row):
        level += (item.kind == "open") - (item.kind == "close")
        while opened and opened[-1][1] > level:
            opened.pop()
        state = _state(item)
        if state == "begin":
            opened.append((at, level))
        elif state == "end" and opened and opened[-1][1] == level:
            start, _ = opened.pop()
            ends[start] = at + 1
    return ends


def _state(item: Item) -> str | None:
    """Return the type of a field's tag: begin, separate or end."""
    match = _FIELD.search(item.raw) if item.kind == "void" else None
    return match[1] if match else None


def _field(row: Sequence[Item], levels: int) -> Iterator[Item]:
    for at, item in enumerate(row):
        if levels and _state(item) == "separate":
            instruction = "".join(one.raw for one in row[: at + 1])
            if _LINK.search(instruction):
                yield Item("open", instruction, "field")
                yield from _fields(list(row[at + 1 : -1]), levels - 1)
                yield Item("close", row[-1].raw, "field")
                return
            break
    yield Item("atom", "".join(item.raw for item in row))
