"""HTML and XML files, read with `app.text.markup`."""

from __future__ import annotations

from app.errors import UnreadableFileError
from app.text.document import Document
from app.text.markup import MarkupDocument
from app.text.markup_tokens import MarkupError


def open_html(text: str) -> Document:
    """An HTML page or fragment."""
    return MarkupDocument(text, "html")


def open_xml(text: str) -> Document:
    """An XML document. Raises `UnreadableFileError` if it is not well-formed."""
    try:
        return MarkupDocument(text, "xml")
    except MarkupError as error:
        raise UnreadableFileError(str(error)) from None
