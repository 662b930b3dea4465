"""The table of supported file formats, and how each is opened."""

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import NamedTuple, TypeAlias

from app.documents.catalogue import open_catalogue
from app.documents.json_strings import open_json
from app.documents.markdown import open_markdown
from app.documents.prose import Prose
from app.documents.subtitles import open_subtitles
from app.documents.text_encoding import decode
from app.documents.word_file import WordFile, unpacked_size
from app.errors import UnreadableFileError
from app.text.document import Answer, Container, Document
from app.text.markup.document import MarkupDocument
from app.text.markup.tokens import Format, MarkupError

FileDocument: TypeAlias = Container[bytes]
"""The texts of a file."""


class FileFormat(NamedTuple):
    """A file format. `open` and `size` raise `UnreadableFileError`.

    size  bytes of a file as parsed; the memory it takes is a multiple of them
    """

    media_type: str
    open: Callable[[bytes], FileDocument]
    size: Callable[[bytes], int] = len


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
        in_lines: bool = False,
    ) -> None:
        text, self._encoding = decode(data, is_markup=is_markup)
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


FORMATS: dict[str, FileFormat] = {
    ".txt": FileFormat("text/plain", _in_lines(Prose)),
    ".html": FileFormat("text/html", _markup("html")),
    ".xml": FileFormat("application/xml", _markup("xml")),
    ".md": FileFormat("text/markdown", _in_lines(open_markdown)),
    ".srt": FileFormat("application/x-subrip", _in_lines(open_subtitles)),
    ".po": FileFormat("text/x-gettext-translation", _in_lines(open_catalogue)),
    ".json": FileFormat("application/json", lambda data: _TextFile(data, open_json)),
    ".docx": FileFormat(
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        WordFile,
        unpacked_size,
    ),
}
"""Formats by file name extension."""

SUFFIXES = tuple(FORMATS)


def file_format(name: str) -> FileFormat:
    """Return the format for a file name. Raises `UnreadableFileError`."""
    suffix = PurePath(name).suffix.lower()
    if suffix not in FORMATS:
        raise UnreadableFileError(f"the file extension should be one of {', '.join(SUFFIXES)}")
    return FORMATS[suffix]
