"""OpenDocument: texts, presentations and sheets (ISO/IEC 26300-3)."""

from app.documents.xml.archive import Archive, Readers, tokens
from app.documents.xml.fragment import Vocabulary, marked_paragraphs
from app.errors import UnreadableFileError

_CONTENT = "content.xml"
_STYLES = "styles.xml"  # with headers and footers
_NAMES = Vocabulary(
    paragraphs=frozenset({"text:p", "text:h"}),
    inline=frozenset({"text:span", "text:a", "text:meta"}),
    breaks=frozenset({"text:tab", "text:line-break"}),
    copied=frozenset({"text:tracked-changes", "office:annotation"}),
    fields="text:",
    space="text:s",
)


def open_document_parts(archive: Archive) -> Readers:
    """Return the parts with text. Raises `UnreadableFileError`."""
    if _CONTENT not in archive.names:
        raise UnreadableFileError(f"not an OpenDocument file: {_CONTENT} is missing")
    if archive.has("META-INF/manifest.xml", b"encryption-data"):
        raise UnreadableFileError("the document is encrypted")
    return {
        name: lambda xml: marked_paragraphs(tokens(xml), _NAMES)
        for name in (_CONTENT, _STYLES)
        if name in archive.names
    }
