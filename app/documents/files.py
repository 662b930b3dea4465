"""The table of supported file formats, and how each is opened."""

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import NamedTuple, TypeAlias

from app.documents.catalogue import open_catalogue
from app.documents.json_strings import open_json
from app.documents.markdown import open_markdown
from app.documents.pdf import PdfFile
from app.documents.prose import Prose
from app.documents.subtitles import open_subtitles, open_web_subtitles
from app.documents.table import open_tabbed, open_table
from app.documents.text_encoding import decode
from app.documents.xml.archive import Archive, ArchiveFile, Readers, unpacked_size
from app.documents.xml.epub import epub_parts
from app.documents.xml.open_document import open_document_parts
from app.documents.xml.open_xml import office_parts
from app.documents.xml.xliff import open_xliff
from app.errors import UnreadableFileError
from app.text.document import Answer, Container, Document
from app.text.markup.document import MarkupDocument
from app.text.markup.tokens import Format, MarkupError

FileDocument: TypeAlias = Container[bytes]
"""The texts of a file."""


class FileFormat(NamedTuple):
    """A file format. `open` and `size` raise `UnreadableFileError`.

    media_type  of the translation
    size        bytes of a file as parsed; the memory it takes is a multiple of them
    result      file name extension of the translation, if it is in another format
    """

    media_type: str
    open: Callable[[bytes], FileDocument]
    size: Callable[[bytes], int] = len
    result: str | None = None


MAX_LINES = 250_000
"""Maximum lines of a file that is read by lines; even an empty one takes up to 300 bytes."""


class _TextFile:
    """A text file; one that is read by lines may have `MAX_LINES`."""

    def __init__(
        self,
        data: bytes,
        read: Callable[[str], Document],
        *,
        is_markup: bool = False,
        is_catalogue: bool = False,
        in_lines: bool = False,
    ) -> None:
        text, self._encoding = decode(data, is_markup=is_markup, is_catalogue=is_catalogue)
        if in_lines and text.count("\n") + text.count("\r") > MAX_LINES:
            raise UnreadableFileError(f"a file may have {MAX_LINES:,} lines")
        self._document = read(text)
        self.texts = self._document.texts
        self.tagged = self._document.tagged

    def with_translations(self, answers: Sequence[Answer]) -> bytes:
        return self._encoding.encode(self._document.with_translations(answers))


def _in_lines(read: Callable[[str], Document]) -> Callable[[bytes], FileDocument]:
    return lambda data: _TextFile(data, read, in_lines=True)


def _markup(markup: Format) -> Callable[[bytes], FileDocument]:
    def read(text: str) -> Document:
        try:
            return MarkupDocument(text, markup)
        except MarkupError as error:
            raise UnreadableFileError(str(error)) from None

    return lambda data: _TextFile(data, read, is_markup=True)


def _archive(media_type: str, find: Callable[[Archive], Readers]) -> FileFormat:
    media_type = f"application/{media_type}"
    return FileFormat(media_type, lambda data: ArchiveFile(data, find), unpacked_size)


_OPEN_XML = "vnd.openxmlformats-officedocument."
_OPEN_DOCUMENT = "vnd.oasis.opendocument."
_XLIFF = FileFormat(
    "application/xliff+xml", lambda data: _TextFile(data, open_xliff, is_markup=True)
)

FORMATS: dict[str, FileFormat] = {
    ".txt": FileFormat("text/plain", _in_lines(Prose)),
    ".html": FileFormat("text/html", _markup("html")),
    ".xml": FileFormat("application/xml", _markup("xml")),
    ".md": FileFormat("text/markdown", _in_lines(open_markdown)),
    ".srt": FileFormat("application/x-subrip", _in_lines(open_subtitles)),
    ".vtt": FileFormat("text/vtt", _in_lines(open_web_subtitles)),
    ".csv": FileFormat("text/csv", _in_lines(open_table)),
    ".tsv": FileFormat("text/tab-separated-values", _in_lines(open_tabbed)),
    ".po": FileFormat(
        "text/x-gettext-translation",
        lambda data: _TextFile(data, open_catalogue, is_catalogue=True, in_lines=True),
    ),
    ".json": FileFormat("application/json", lambda data: _TextFile(data, open_json)),
    ".xlf": _XLIFF,
    ".xliff": _XLIFF,
    ".docx": _archive(_OPEN_XML + "wordprocessingml.document", office_parts),
    ".pptx": _archive(_OPEN_XML + "presentationml.presentation", office_parts),
    ".xlsx": _archive(_OPEN_XML + "spreadsheetml.sheet", office_parts),
    ".odt": _archive(_OPEN_DOCUMENT + "text", open_document_parts),
    ".odp": _archive(_OPEN_DOCUMENT + "presentation", open_document_parts),
    ".ods": _archive(_OPEN_DOCUMENT + "spreadsheet", open_document_parts),
    ".epub": _archive("epub+zip", epub_parts),
    ".pdf": FileFormat("text/plain", PdfFile, lambda data: 10 * len(data), result=".txt"),
}
"""Formats by file name extension."""

SUFFIXES = tuple(FORMATS)


def file_format(name: str) -> FileFormat:
    """Return the format for a file name. Raises `UnreadableFileError`."""
    suffix = PurePath(name).suffix.lower()
    if suffix not in FORMATS:
        raise UnreadableFileError(f"the file extension should be one of {', '.join(SUFFIXES)}")
    return FORMATS[suffix]


def result_suffix(name: str) -> str:
    """Return the file name extension of a file's translation, that of the file if unknown."""
    suffix = PurePath(name).suffix
    found = FORMATS.get(suffix.lower())
    return (found and found.result) or suffix
