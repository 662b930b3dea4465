"""Which kinds of files there are, and how each is opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import NamedTuple, Protocol

from app.documents.catalogue import open_catalogue
from app.documents.html_and_xml import open_html, open_xml
from app.documents.json_strings import open_json
from app.documents.markdown import open_markdown
from app.documents.prose import prose
from app.documents.subtitles import open_subtitles
from app.documents.text_encoding import decode
from app.documents.word_file import WordFile
from app.errors import UnreadableFileError
from app.text.document import Answer, Document


class FileDocument(Protocol):
    """What a file holds to be translated; as `Document`, but of bytes."""

    @property
    def texts(self) -> list[str]:
        """Each is translated on its own."""

    @property
    def tagged(self) -> list[bool]:
        """Of every text, whether it takes links between words to put its translation together."""

    def with_translations(self, answers: Sequence[Answer]) -> bytes:
        """The file, with a translation for each of the texts."""


class FileFormat(NamedTuple):
    """A kind of file. `open` raises `UnreadableFileError`."""

    media_type: str
    open: Callable[[bytes], FileDocument]


class _TextFile:
    """A file that is text."""

    def __init__(
        self, data: bytes, read: Callable[[str], Document], *, is_markup: bool = False
    ) -> None:
        text, self._encoding = decode(data, is_markup=is_markup)
        self._document = read(text)
        self.texts = self._document.texts
        self.tagged = self._document.tagged

    def with_translations(self, answers: Sequence[Answer]) -> bytes:
        return self._encoding.encode(self._document.with_translations(answers))


FORMATS: dict[str, FileFormat] = {
    ".txt": FileFormat("text/plain", lambda data: _TextFile(data, prose)),
    ".html": FileFormat("text/html", lambda data: _TextFile(data, open_html, is_markup=True)),
    ".xml": FileFormat("application/xml", lambda data: _TextFile(data, open_xml, is_markup=True)),
    ".md": FileFormat("text/markdown", lambda data: _TextFile(data, open_markdown)),
    ".srt": FileFormat("application/x-subrip", lambda data: _TextFile(data, open_subtitles)),
    ".po": FileFormat("text/x-gettext-translation", lambda data: _TextFile(data, open_catalogue)),
    ".json": FileFormat("application/json", lambda data: _TextFile(data, open_json)),
    ".docx": FileFormat(
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document", WordFile
    ),
}
"""By the end of a file's name."""

SUFFIXES = tuple(FORMATS)


def file_format(name: str) -> FileFormat:
    """The format of a file by its name. Raises `UnreadableFileError`."""
    suffix = PurePath(name).suffix.lower()
    if suffix not in FORMATS:
        raise UnreadableFileError(f"the file extension should be one of {', '.join(SUFFIXES)}")
    return FORMATS[suffix]
