"""Bytes of a text file as text, and back: encoding, byte order mark and line ends are kept."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from app.errors import UnreadableFileError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARATION = re.compile(
    rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)|<meta[^>]*?\scharset\s*=\s*["']?([\w.:-]+)""",
    re.IGNORECASE | re.DOTALL,
)
_DECLARATION_BYTES = 1024
"""HTML's standard looks for a declaration so far, no further."""


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """How a file's text was written.

    mark       the byte order mark, if there is one
    line_end   what "\\n" stands for; where line ends are mixed they are part of the text
    is_markup  whether a character that the codec lacks may be written as a reference
    """

    codec: str
    mark: bytes
    line_end: str
    is_markup: bool

    def encode(self, text: str) -> bytes:
        """The text as bytes; a lone surrogate, which no encoding has, as "?"."""
        raw = text.replace("\n", self.line_end)
        errors = "replace" if self.codec.startswith("utf") else "xmlcharrefreplace"
        return self.mark + raw.encode(self.codec, errors)


def decode(data: bytes, *, is_markup: bool = False) -> tuple[str, TextEncoding]:
    """The text, and how it was written: UTF-8 or UTF-16, or in markup what that declares.

    Raises `UnreadableFileError`.
    """
    mark, codec = next((known for known in _MARKS if data.startswith(known[0])), (b"", "utf-8"))
    if is_markup and not mark:
        codec = _declared(data) or codec
    try:
        text = data[len(mark) :].decode(codec)
    except UnicodeDecodeError as error:
        line = 1 + data[: len(mark) + error.start].count(b"\n")
        raise UnreadableFileError(
            f"line {line}: not {codec.upper()} (byte {len(mark) + error.start})"
        ) from None
    line_end = "\n"
    for other in ("\r\n", "\r"):
        n_ends = text.count(other)
        if n_ends and n_ends == text.count("\r") and text.count("\n") == other.count("\n") * n_ends:
            line_end = other
    return text.replace(line_end, "\n"), TextEncoding(codec, mark, line_end, is_markup)


def _declared(data: bytes) -> str | None:
    """A declared encoding that is one of text. What is read as ASCII cannot be UTF-16."""
    if not (match := _DECLARATION.search(data[:_DECLARATION_BYTES])):
        return None
    name = (match[1] or match[2]).decode()
    try:
        found = codecs.lookup(name)
    except LookupError:
        raise UnreadableFileError(f"line 1: the encoding {name} is not known") from None
    is_text = getattr(found, "_is_text_encoding", True)
    return found.name if is_text and not found.name.startswith("utf-16") else None
