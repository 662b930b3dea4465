"""ZIP archives of XML parts: the formats of Microsoft Office, OpenDocument and EPUB.

Everything except the translated parts stays identical, byte for byte.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from app.errors import UnreadableFileError
from app.text.document import Answer, Document, translated
from app.text.markup.escaped_tags import unescaped
from app.text.markup.tokens import MarkupError, Token, xml_tokens

MAX_ENTRIES = 10_000
MAX_UNPACKED_BYTES = 200_000_000
MAX_XML_BYTES = 20_000_000
"""Maximum bytes of all parts that are parsed."""

MAX_TAGS = 500_000
"""Maximum tags of all parts that are parsed: a novel of 1,000 pages has half as many."""

CHUNK_BYTES = 1_000_000
MAX_DEPTH = 100
"""Maximum nesting of elements; text in a box in a table in a cell has about thirty."""

Read: TypeAlias = Callable[[str], Document]
Readers: TypeAlias = Mapping[str, Read]
"""How each part with text is read, by its name in the archive."""

_ATTRIBUTE = re.compile(r"""(?<=\s)([\w:.-]++)\s*+=\s*+(?:"([^"]*)"|'([^']*)')""")
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""All that these formats have: ECMA-376 part 2, annex B; OpenDocument 1.3 part 2, §2.3; OCF."""

_XML_SUFFIXES = (".xml", ".xhtml", ".html", ".htm", ".ncx", ".opf")
_DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError)


class ArchiveFile:
    """A file that is an archive. Raises `UnreadableFileError`.

    find  returns the parts with text; raises `UnreadableFileError`
    """

    def __init__(self, data: bytes, find: Callable[[Archive], Readers]) -> None:
        self._data = data
        with _opened(data) as file:
            _check(file)
            archive = Archive(file)
            parts = find(archive)
            archive.check(parts)
            self._parts = {name: archive.document(name, read) for name, read in parts.items()}
        self.texts = [text for part in self._parts.values() for text in part.texts]
        self.tagged = [tagged for part in self._parts.values() for tagged in part.tagged]

    def with_translations(self, answers: Sequence[Answer]) -> bytes:
        """Return the archive; the original if nothing was translated."""
        if [answer.text for answer in answers] == self.texts:
            return self._data
        parts = translated(self._parts.values(), answers)
        written = dict(zip(self._parts, parts, strict=True))
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


class Archive:
    """The parts of an open archive, checked before they are parsed."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self.names = frozenset(file.namelist())

    def check(self, names: Iterable[str]) -> None:
        """Raise `UnreadableFileError` if parts are missing, or too large together."""
        names = list(names)
        if missing := [name for name in names if name not in self.names]:
            raise UnreadableFileError(f"{missing[0]} is missing in the archive")
        if sum(self._file.getinfo(name).file_size for name in names) > MAX_XML_BYTES:
            raise UnreadableFileError(f"the parts with text have more than {MAX_XML_BYTES:,} bytes")
        if sum(self._file.read(name).count(b"<") for name in names) > MAX_TAGS:
            raise UnreadableFileError(f"the parts with text may have {MAX_TAGS:,} tags")

    def has(self, name: str, content: bytes) -> bool:
        """Whether a part, which may be large, has this content."""
        if name not in self.names:
            return False
        with self._file.open(name) as part:
            end = b""
            while chunk := part.read(CHUNK_BYTES):
                if content in end + chunk:
                    return True
                end = chunk[-len(content) :]
        return False

    def elements(self, name: str) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the elements of a part in order: the name without prefix, and the attributes.

        Raises `UnreadableFileError`.
        """
        self.check([name])
        with _named(name):
            for token in tokens(self._text(name)):
                if token.kind in ("open", "void"):
                    found = _ATTRIBUTE.findall(token.raw)
                    attributes = {key: unescaped(one or other) for key, one, other in found}
                    yield token.name.rpartition(":")[2], attributes

    def document(self, name: str, read: Read) -> Document:
        """Return a part that was checked. Raises `UnreadableFileError`."""
        with _named(name):
            return read(self._text(name))

    def _text(self, name: str) -> str:
        try:
            return self._file.read(name).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise UnreadableFileError("not UTF-8") from None


def tokens(xml: str) -> Iterator[Token]:
    """Yield the tokens of a part. Raises `MarkupError`, `UnreadableFileError`."""
    if "<!ENTITY" in xml:  # no program writes one into a document
        raise UnreadableFileError("definitions of entities are not allowed")
    yield from xml_tokens(xml, max_depth=MAX_DEPTH)


def unpacked_size(data: bytes) -> int:
    """Return the bytes of the archive and its XML parts. Raises `UnreadableFileError`."""
    with _opened(data) as file:
        xml = [entry for entry in file.infolist() if entry.filename.endswith(_XML_SUFFIXES)]
        return len(data) + sum(entry.file_size for entry in xml)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Name the part in errors."""
    try:
        yield
    except (UnreadableFileError, MarkupError) as error:
        raise UnreadableFileError(f"{name}: {error}") from None


@contextmanager
def _opened(data: bytes) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield archive
    except _DAMAGED:
        raise UnreadableFileError("not a document of this format: the archive is damaged") from None


def _check(archive: zipfile.ZipFile) -> None:
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise UnreadableFileError(f"the archive has more than {MAX_ENTRIES:,} entries")
    if sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
        raise UnreadableFileError(f"the archive unpacks to more than {MAX_UNPACKED_BYTES:,} bytes")
    if any(entry.flag_bits & 1 for entry in entries):
        raise UnreadableFileError("the document is encrypted")
    if other := [entry for entry in entries if entry.compress_type not in _METHODS]:
        raise UnreadableFileError(
            f"{other[0].filename} is compressed by another method than deflate"
        )
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names):
        raise UnreadableFileError("the archive has two entries with the same name")
    if (damaged := archive.testzip()) is not None:  # all entries are written again
        raise UnreadableFileError(f"{damaged} is damaged")
