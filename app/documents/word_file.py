"""Word's .docx: a ZIP archive of XML parts; those with text are translated.

Everything except the changed paragraphs stays identical, byte for byte.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from app.documents.word_paragraph import paragraphs
from app.errors import UnreadableFileError
from app.text.document import Answer, Parts
from app.text.markup.tokens import MarkupError, Token, xml_tokens

MAX_ENTRIES = 10_000
MAX_UNPACKED_BYTES = 200_000_000
MAX_XML_BYTES = 20_000_000
"""Maximum bytes of all parts that are parsed."""

MAX_TAGS = 500_000
"""Maximum tags of all parts that are parsed: a novel of 1,000 pages has half as many."""

MAX_DEPTH = 100
"""Maximum nesting of elements; text in a box in a table in a cell has about thirty."""

_CONTENTS = "[Content_Types].xml"
_OVERRIDE = re.compile(r"""\b(PartName|ContentType)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_TRANSLATED = re.compile(
    r"application/vnd\.(?:openxmlformats-officedocument\.wordprocessingml|ms-word)\."
    r"(?:(?:document|template)\.(?:macroEnabled\.)?main|header|footer|footnotes|endnotes)\+xml",
    re.IGNORECASE,
)
_DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError)


class WordFile:
    """A Word document. Raises `UnreadableFileError`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        with _opened(data) as archive:
            _check(archive)
            self._parts = _read(archive)
        self.texts = [text for part in self._parts.values() for text in part.texts]
        self.tagged = [tagged for part in self._parts.values() for tagged in part.tagged]

    def with_translations(self, answers: Sequence[Answer]) -> bytes:
        """Return the archive; the original if nothing was translated."""
        if [answer.text for answer in answers] == self.texts:
            return self._data
        remaining = iter(answers)
        written = {
            name: part.with_translations(list(islice(remaining, len(part.texts))))
            for name, part in self._parts.items()
        }
        target = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(self._data)) as archive,
            zipfile.ZipFile(target, "w") as copy,
        ):
            for entry in archive.infolist():
                xml = written.get(entry.filename)
                content = archive.read(entry) if xml is None else xml.encode("utf-8")
                copy.writestr(entry, content, entry.compress_type)
        return target.getvalue()


@contextmanager
def _opened(data: bytes) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield archive
    except _DAMAGED:
        raise UnreadableFileError("not a Word document: the archive is damaged") from None


def unpacked_size(data: bytes) -> int:
    """Return the bytes of the archive and its XML parts. Raises `UnreadableFileError`."""
    with _opened(data) as archive:
        xml = [entry for entry in archive.infolist() if entry.filename.endswith(".xml")]
        return len(data) + sum(entry.file_size for entry in xml)


def _check(archive: zipfile.ZipFile) -> None:
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise UnreadableFileError(f"the archive has more than {MAX_ENTRIES:,} entries")
    if sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
        raise UnreadableFileError(f"the archive unpacks to more than {MAX_UNPACKED_BYTES:,} bytes")
    if any(entry.flag_bits & 1 for entry in entries):
        raise UnreadableFileError("the document is encrypted")
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names):
        raise UnreadableFileError("the archive has two entries with the same name")
    if (damaged := archive.testzip()) is not None:  # all entries are written again
        raise UnreadableFileError(f"not a Word document: {damaged} is damaged")


def _read(archive: zipfile.ZipFile) -> dict[str, Parts]:
    """Return the parts with text by name."""
    if _CONTENTS not in archive.namelist():
        raise UnreadableFileError(f"not a Word document: {_CONTENTS} is missing")
    if archive.getinfo(_CONTENTS).file_size > MAX_XML_BYTES:
        raise UnreadableFileError(f"{_CONTENTS} has more than {MAX_XML_BYTES:,} bytes")
    _check_tags(archive, [_CONTENTS])
    names: dict[str, None] = {}
    for token in _tokens(archive, _CONTENTS):
        given = {name: one or other for name, one, other in _OVERRIDE.findall(token.raw)}
        if token.name.endswith("Override") and _TRANSLATED.fullmatch(given.get("ContentType", "")):
            names[given.get("PartName", "").removeprefix("/")] = None
    if not names or names.keys() - archive.namelist():
        raise UnreadableFileError("not a Word document: parts with text are missing")
    if sum(archive.getinfo(name).file_size for name in names) > MAX_XML_BYTES:
        raise UnreadableFileError(f"the parts with text have more than {MAX_XML_BYTES:,} bytes")
    _check_tags(archive, names)
    return {name: paragraphs(_tokens(archive, name)) for name in names}


def _check_tags(archive: zipfile.ZipFile, names: Iterable[str]) -> None:
    if sum(archive.read(name).count(b"<") for name in names) > MAX_TAGS:
        raise UnreadableFileError(f"a Word document may have {MAX_TAGS:,} tags")


def _tokens(archive: zipfile.ZipFile, name: str) -> Iterator[Token]:
    try:
        xml = archive.read(name).decode("utf-8-sig")
        if "<!DOCTYPE" in xml:  # may define entities; no program writes one into Word documents
            raise UnreadableFileError(f"{name}: a document type is not allowed")
        yield from xml_tokens(xml, max_depth=MAX_DEPTH)
    except UnicodeDecodeError:
        raise UnreadableFileError(f"{name}: not UTF-8") from None
    except MarkupError as error:
        raise UnreadableFileError(f"{name}: {error}") from None
