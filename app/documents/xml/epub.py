"""EPUB 2 and 3: the pages and the table of contents (https://www.w3.org/TR/epub-33/)."""

import posixpath
import re
from urllib.parse import unquote

from app.documents.xml.archive import Archive, Read, Readers, tokens
from app.documents.xml.fragment import Vocabulary, marked_paragraphs
from app.errors import UnreadableFileError
from app.text.document import Document
from app.text.markup.document import MarkupDocument
from app.text.markup.tokens import VOID

_CONTAINER = "META-INF/container.xml"
_EMPTY = re.compile(r"""<([A-Za-z][\w:.-]*)((?:\s(?:[^<>"']|"[^"]*+"|'[^']*+')*+)?)(?:(?<=/)|/)>""")
_CONTENTS = Vocabulary(paragraphs=frozenset({"text"}), copied=frozenset({"docAuthor"}))


def epub_parts(archive: Archive) -> Readers:
    """Return the parts with text. Raises `UnreadableFileError`."""
    if _CONTAINER not in archive.names:
        raise UnreadableFileError(f"not EPUB: {_CONTAINER} is missing")
    roots = [
        attributes.get("full-path", "")
        for element, attributes in archive.elements(_CONTAINER)
        if element == "rootfile"
    ]
    roots = list(dict.fromkeys(roots))
    archive.check(roots)
    parts: dict[str, Read] = {}
    for root in roots:
        for element, attributes in archive.elements(root):
            read = _READERS.get(attributes.get("media-type", "")) if element == "item" else None
            path = posixpath.join(posixpath.dirname(root), unquote(attributes.get("href", "")))
            if read and (name := posixpath.normpath(path)) in archive.names:
                parts[name] = read
    if not parts:
        raise UnreadableFileError("not EPUB: it has no pages")
    return parts


def _page(xhtml: str) -> Document:
    """Read XHTML, whose empty elements HTML would not end."""
    return MarkupDocument(_EMPTY.sub(_ended, xhtml), "html")


def _ended(tag: re.Match[str]) -> str:
    if tag[1].lower() in VOID:
        return tag[0]
    return f"<{tag[1]}{tag[2].removesuffix('/').rstrip()}></{tag[1]}>"


_READERS: dict[str, Read] = {
    "application/xhtml+xml": _page,
    "application/x-dtbncx+xml": lambda xml: marked_paragraphs(tokens(xml), _CONTENTS),
}
