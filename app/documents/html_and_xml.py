"""HTML and XML files, on `app.markup`."""

from __future__ import annotations

from app.document import Document
from app.errors import UnreadableFileError
from app.markup import MarkupDocument
from app.markup_tokens import MarkupError


def open_html(text: str) -> Document:
    """A page or a piece of one."""
    return MarkupDocument(text, "html")


def open_xml(text: str) -> Document:
    """A document. Raises `UnreadableFileError` where it is not well-formed."""
    try:
        return MarkupDocument(text, "xml")
    except MarkupError as error:
        raise UnreadableFileError(str(error)) from None
