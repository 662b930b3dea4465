"""Parses a paragraph of WordprocessingML (ECMA-376 part 1, §17.3) to a flat list of tokens.

Runs are split into text and other content, each of which may be in a separate run. Runs that were
split by proofing marks and revisions can be joined without loss.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from app.text.markup.escaped_tags import unescaped
from app.text.markup.tokens import Token, end_of_element

ItemKind = Literal["text", "open", "close", "void", "atom", "break"]

_CONTAINERS = frozenset(
    "w:hyperlink w:ins w:moveTo w:smartTag w:customXml w:dir w:bdo".split()  # noqa: SIM905
)
_DROPPED = frozenset("w:proofErr w:lastRenderedPageBreak".split())  # noqa: SIM905
_BREAKS = frozenset("w:br w:cr w:tab w:ptab".split())  # noqa: SIM905
_CHARACTERS = {"w:noBreakHyphen": "\u2011", "w:softHyphen": "\u00ad"}
_ATOMS = frozenset("m:oMath w:fldSimple".split())  # noqa: SIM905
_PROOFING = re.compile(r"<w:(?:lang|noProof)\b[^>]*/>")
_NO_PROPERTIES = re.compile(r"<w:rPr\b[^>]*/?>(?:</w:rPr>)?")
_FIELD = re.compile(r"""<w:fldChar\b[^>]*\bw:fldCharType\s*=\s*["'](begin|separate|end)""")
_LINK = re.compile(r"<w:instrText\b[^>]*>\s*HYPERLINK\b")


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


def items(row: Sequence[Token]) -> list[Item]:
    """Return the content of a paragraph without its own tags and properties."""
    return _fields(list(_items(row, MAX_NESTED)), MAX_NESTED)


def written(text: str, properties: str) -> str:
    """Return a run with an escaped text."""
    return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>' if text else ""


def _raw(tokens: Sequence[Token]) -> str:
    return "".join(token.raw for token in tokens)


def _items(row: Sequence[Token], levels: int) -> Iterator[Item]:
    """Parse elements, which may contain `levels - 1` others."""
    at = 0
    while at < len(row):
        token = row[at]
        end = end_of_element(row, at)
        element = row[at:end]
        at = end
        if levels and token.name in _CONTAINERS and token.kind == "open":
            yield Item("open", token.raw, token.name)
            yield from _items(element[1:-1], levels - 1)
            yield Item("close", element[-1].raw, token.name)
            continue
        if levels and token.name == "w:sdt":
            yield from _content_control(element, levels)
            continue
        raw = _raw(element)
        if token.kind not in ("open", "void"):
            if raw.strip():
                yield Item("void", raw)
        elif token.name in _DROPPED:
            continue
        elif token.name == "w:r":
            yield from _run(element)
        elif token.name in _ATOMS:
            yield Item("atom", raw)
        elif token.name == "m:oMathPara":
            yield Item("break", raw)
        else:
            yield Item("void", raw, inner=tuple(element))


def _content_control(element: Sequence[Token], levels: int) -> Iterator[Item]:
    """Parse <w:sdt>, whose content is between its properties and its end."""
    for at, token in enumerate(element):
        if token.name == "w:sdtContent" and token.kind == "open":
            end = end_of_element(element, at)
            yield Item("open", _raw(element[: at + 1]), "w:sdt")
            yield from _items(element[at + 1 : end - 1], levels - 1)
            yield Item("close", _raw(element[end - 1 :]), "w:sdt")
            return
    yield Item("void", _raw(element))


def _run(element: Sequence[Token]) -> Iterator[Item]:
    """Yield the content of a run, each part with the run's properties."""
    written_properties = properties = ""
    at = 1
    while at < len(element) - 1:
        token = element[at]
        end = end_of_element(element, at)
        child = element[at:end]
        raw = _raw(child)
        at = end
        whole = f"<w:r>{written_properties}{raw}</w:r>"
        if token.name == "w:rPr":
            written_properties = raw
            properties = _PROOFING.sub("", raw)
            if _NO_PROPERTIES.fullmatch(properties):
                properties = ""
        elif token.name == "w:t" or token.name in _CHARACTERS:
            if text := _CHARACTERS.get(token.name) or _text(child):
                yield Item("text", whole, text=text, properties=properties)
        elif token.name in _BREAKS:
            yield Item("break", whole)
        elif raw.strip() and token.name not in _DROPPED:
            yield Item("void", whole, inner=tuple(child))


def _text(element: Sequence[Token]) -> str:
    """Return the text of <w:t>; outer spaces count only with xml:space."""
    text = unescaped(_raw(element[1:-1]))
    return text if 'xml:space="preserve"' in element[0].raw else text.strip()


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
