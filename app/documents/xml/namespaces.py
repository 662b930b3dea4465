"""Prefixes of namespaces. A program may choose others than Office and LibreOffice do, such as
`x:` in workbooks of the Open XML SDK; the names of elements here have the usual ones."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, Self, TypeVar

from app.text.markup.tokens import Token

_OFFICE = "http://schemas.openxmlformats.org/"
_STRICT = "http://purl.oclc.org/ooxml/"
_OPEN_DOCUMENT = "urn:oasis:names:tc:opendocument:xmlns:"
_USUAL = {
    _OFFICE + "wordprocessingml/2006/main": "w",
    _STRICT + "wordprocessingml/main": "w",
    _OFFICE + "officeDocument/2006/math": "m",
    _STRICT + "officeDocument/math": "m",
    _OFFICE + "drawingml/2006/main": "a",
    _STRICT + "drawingml/main": "a",
    _OFFICE + "spreadsheetml/2006/main": "",
    _STRICT + "spreadsheetml/main": "",
    _OPEN_DOCUMENT + "text:1.0": "text",
    _OPEN_DOCUMENT + "office:1.0": "office",
    "http://www.daisy.org/z3986/2005/ncx/": "",
}
_DECLARATION = re.compile(r"""\sxmlns(?::([^\s=:]+))?\s*=\s*(?:"([^"]*)"|'([^']*)')""")


@dataclass(frozen=True)
class Names:
    """The names of a format's elements: every string, and every set of strings, of a subclass.

    paragraphs  elements whose content is a text
    """

    paragraphs: frozenset[str]

    def renamed(self, rename: Callable[[str], str]) -> Self:
        """Return the names with other prefixes."""
        changed: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, frozenset):
                changed[field.name] = frozenset(map(rename, value))
            elif isinstance(value, str) and value:
                changed[field.name] = rename(value)
        return replace(self, **changed)


N = TypeVar("N", bound=Names)


def in_document(names: N, tokens: Iterable[Token]) -> tuple[N, Iterator[Token]]:
    """Return the names with the prefixes that the document's root declares, and the tokens."""
    remaining = iter(tokens)
    start: list[Token] = []
    for token in remaining:
        start.append(token)
        if token.kind in ("open", "void"):
            break
    own: dict[str, str] = {}
    for prefix, one, other in _DECLARATION.findall(start[-1].raw if start else ""):
        usual = _USUAL.get(one or other)
        if usual is not None and own.get(usual) != usual:
            own[usual] = prefix
    if any(usual != prefix for usual, prefix in own.items()):
        names = names.renamed(lambda name: _renamed(name, own))
    return names, chain(start, remaining)


def _renamed(name: str, own: dict[str, str]) -> str:
    usual, _, local = name.rpartition(":")
    prefix = own.get(usual, usual)
    return f"{prefix}:{local}" if prefix else local
