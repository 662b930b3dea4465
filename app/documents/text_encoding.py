"""Decodes and encodes text files, preserving encoding, byte order mark and line ends."""

import codecs
import re
from dataclasses import dataclass

from app.errors import UnreadableFileError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ENCODINGS = frozenset(
    """utf-8 utf-8-sig ascii koi8-r koi8-u koi8-t kz1048 ptcp154 tis-620 hp-roman8
    shift_jis cp932 euc_jp euc_jisx0213 iso2022_jp euc_kr cp949 johab
    gb2312 gbk gb18030 big5 big5hkscs cp950
    iso8859-1 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-9
    iso8859-10 iso8859-11 iso8859-13 iso8859-14 iso8859-15 iso8859-16
    cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258
    cp437 cp720 cp737 cp775 cp850 cp852 cp855 cp856 cp857 cp858 cp860 cp861 cp862 cp863 cp865
    cp866 cp869 cp874 cp1006 cp1125
    mac-cyrillic mac-greek mac-iceland mac-latin2 mac-roman mac-turkish""".split()  # noqa: SIM905
)
"""Python's codecs for text files that agree with ASCII on ASCII bytes; its other codecs are for
domain names, binary data or text within mail."""

_DECLARATION = re.compile(
    rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)|<meta[^>]*?\scharset\s*=\s*["']?([\w.:-]+)""",
    re.IGNORECASE | re.DOTALL,
)
_DECLARATION_BYTES = 1024
"""Bytes that are searched for a declaration, as by the HTML standard."""

_CHARSET = re.compile(r"""(^"Content-Type:[^"\n]*?\bcharset=)([\w.:-]+)""", re.MULTILINE | re.ASCII)
"""In the header of a PO file."""

_CHARSET_OF_BYTES = re.compile(_CHARSET.pattern.encode(), re.MULTILINE)
_HEADER_BYTES = 16_384
_NO_CHARSET = b"CHARSET"
"""In templates; msginit replaces it."""


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """A file's codec, byte order mark and line end; mixed line ends are part of the text.

    is_catalogue  whether the codec, unless it is Unicode's, is declared in the header of a PO file
    """

    codec: str
    mark: bytes
    line_end: str
    is_catalogue: bool = False

    def encode(self, text: str) -> bytes:
        """Encode the text; a lone surrogate becomes "?", a character that only markup's codec
        lacks a reference. A catalogue whose codec lacks one becomes UTF-8, and declares it."""
        raw = text.replace("\n", self.line_end)
        if self.is_catalogue:
            try:
                return self.mark + raw.encode(self.codec)
            except UnicodeEncodeError:
                return _CHARSET.sub(r"\1UTF-8", raw, count=1).encode("utf-8", "replace")
        errors = "replace" if self.codec.startswith("utf") else "xmlcharrefreplace"
        return self.mark + raw.encode(self.codec, errors)


def decode(
    data: bytes, *, is_markup: bool = False, is_catalogue: bool = False
) -> tuple[str, TextEncoding]:
    """Return the text and its encoding: UTF-8 or UTF-16, or one declared by markup or a PO file.

    Raises `UnreadableFileError`.
    """
    mark, codec = next((known for known in _MARKS if data.startswith(known[0])), (b"", "utf-8"))
    declared = None
    if is_markup and not mark:
        declared = _declared(data, _DECLARATION.search(data[:_DECLARATION_BYTES]))
    elif is_catalogue and not mark:
        declared = _declared(data, _CHARSET_OF_BYTES.search(data[:_HEADER_BYTES]))
    codec = declared or codec
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
    is_catalogue = is_catalogue and not codec.startswith("utf")
    return text.replace(line_end, "\n"), TextEncoding(codec, mark, line_end, is_catalogue)


def _declared(data: bytes, match: re.Match[bytes] | None) -> str | None:
    """Return the declared encoding. A declaration read as ASCII cannot be in UTF-16 or UTF-32."""
    if match is None or match[match.lastindex or 0] == _NO_CHARSET:
        return None
    name = match[match.lastindex or 0].decode()
    line = 1 + data.count(b"\n", 0, match.end())
    try:
        found = codecs.lookup(name).name
    except LookupError:
        raise UnreadableFileError(f"line {line}: the encoding {name} is not known") from None
    if found.startswith(("utf-16", "utf-32")):
        return None
    if found not in _ENCODINGS:
        raise UnreadableFileError(f"line {line}: {name} is not an encoding of text files; UTF-8 is")
    return found
