"""XLIFF 1.2 and 2.x: fills in missing targets and keeps everything else.

A target counts as missing if it has no text, is a copy of the source, or has a state that says so.
The segments that version 1.2 marks in <seg-source> are translated one by one, and marked likewise.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html import escape

from app.documents.xml.archive import tokens
from app.documents.xml.fragment import Fragment, Vocabulary
from app.documents.xml.paragraphs import paragraphs, raw_of
from app.errors import UnreadableFileError
from app.text.document import Answer, Document, Parts
from app.text.markup.tokens import MarkupError, Token, end_of_element

_ROOT = re.compile(r"""<((?:[\w.-]++:)?)xliff\b[^<>]*?\sversion\s*=\s*["']([12])\.""")
_UNTRANSLATED = re.compile(r"""\bstate\s*=\s*["'](?:new|needs-translation|initial)["']""")
_SEGMENT = re.compile(r"""<(?:[\w.-]++:)?mrk\b[^<>]*\smtype\s*=\s*["']seg["']""")
_INLINE = Vocabulary(paragraphs=frozenset(), inline=frozenset({"g", "pc", "mrk"}))
_UNITS = {"1": "trans-unit", "2": "segment"}
_ATTRIBUTES = r"""(?:[^<>"']|"[^"]*"|'[^']*')*?(?=/?>)"""
_LANGUAGE = {"1": ("file", "target-language"), "2": ("xliff", "trgLang")}
"""The element and attribute that name the language of targets."""


def open_xliff(text: str) -> Document:
    """Return the sources without a target. Raises `UnreadableFileError`."""
    root = _ROOT.search(text)
    if root is None:
        raise UnreadableFileError("not XLIFF: expected an element xliff of version 1 or 2")
    prefix, version = root[1], root[2]
    try:
        units = paragraphs(tokens(text), {prefix + _UNITS[version]}, partial(_unit, prefix=prefix))
        return _Bilingual(Parts(units), prefix, version)
    except MarkupError as error:
        raise UnreadableFileError(str(error)) from None


class _Bilingual:
    """A file that names the language of its targets once it has any."""

    def __init__(self, parts: Parts, prefix: str, version: str) -> None:
        self._parts = parts
        self._prefix = prefix
        self._version = version
        self.texts = parts.texts
        self.tagged = parts.tagged

    def with_translations(self, answers: Sequence[Answer]) -> str:
        text = self._parts.with_translations(answers)
        language = next((one.languages[1] for one in answers if one.languages[1]), None)
        element, attribute = _LANGUAGE[self._version]

        def named(tag: re.Match[str]) -> str:
            has_language = language is None or re.search(rf"\s{attribute}\s*=", tag[0])
            return tag[0] if has_language else f'{tag[0]} {attribute}="{language}"'

        return re.sub(rf"<{re.escape(self._prefix)}{element}\b{_ATTRIBUTES}", named, text)


def _unit(row: list[Token], prefix: str) -> str | Document:
    """Return a unit, whose source is translated if its target is missing."""
    raw = raw_of(row)
    places = _children(row, prefix)
    inline = _INLINE.renamed(prefix.__add__)
    if "source" not in places:
        return raw
    start, end = places["source"]
    source = row[start + 1 : end - 1]
    copies = [raw_of(source)]
    if is_segmented := "seg-source" in places:
        first, last = places["seg-source"]
        segments = row[first + 1 : last - 1]
        copies.append(raw_of(segments))
        is_segmented = _SEGMENT.search(copies[-1]) is not None
    if "target" in places:
        before, after = places["target"]
        target = row[before]
        if not _is_missing(row[before:after], copies, row[0]):
            return raw
        opening = target.raw if target.kind == "open" else target.raw.replace("/>", ">")
        lead = raw_of(row[1:before])
    else:
        after = max(end for name, (_, end) in places.items() if name in ("source", "seg-source"))
        indent = row[start - 1].raw if row[start - 1].kind == "text" else ""
        lead = raw_of(row[1:after]) + indent
        opening = f"<{prefix}target>"
    content: Document
    if is_segmented:
        read = partial(_segment, inline=inline)
        content = Parts(paragraphs(_without_cdata(segments), {f"{prefix}mrk"}, read))
    else:
        content = Fragment(list(_without_cdata(source)), inline)
    if not content.texts:
        return raw
    rest = raw_of(row[after:])
    opened = [_UNTRANSLATED.sub('state="translated"', tag) for tag in (row[0].raw, opening)]
    return Parts([opened[0] + lead + opened[1], content, f"</{prefix}target>" + rest])


def _segment(row: list[Token], inline: Vocabulary) -> str | Document:
    """Return a segment that is marked in a source."""
    raw = raw_of(row)
    fragment = Fragment(row[1:-1], inline)
    return Parts([row[0].raw, fragment, row[-1].raw]) if fragment.texts else raw


def _is_missing(target: Sequence[Token], copies: Sequence[str], unit: Token) -> bool:
    return (
        not any(one.kind == "text" and one.raw.strip() for one in _without_cdata(target))
        or raw_of(target[1:-1]) in copies
        or any(_UNTRANSLATED.search(one.raw) for one in (target[0], unit))
    )


def _without_cdata(row: Iterable[Token]) -> Iterator[Token]:
    """Yield the tokens, with the text of CDATA sections escaped."""
    in_cdata = False
    for token in row:
        if in_cdata and token.raw != "]]>":
            yield Token("text", escape(token.raw, quote=False))
        elif in_cdata or token.raw == "<![CDATA[":
            in_cdata = not in_cdata
        else:
            yield token


def _children(row: Sequence[Token], prefix: str) -> dict[str, tuple[int, int]]:
    """Return where each first child of a name, without the prefix, starts and ends."""
    places: dict[str, tuple[int, int]] = {}
    at = 1
    while at < len(row) - 1:
        end = end_of_element(row, at)
        places.setdefault(row[at].name.removeprefix(prefix), (at, end))
        at = end
    return places
