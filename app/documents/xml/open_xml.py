"""Finds the parts with text of Word, PowerPoint and Excel files by their content types."""

import re
from collections.abc import Iterator

from app.documents.xml.archive import Archive, Read, Readers, tokens
from app.documents.xml.run_paragraph import run_paragraphs
from app.documents.xml.runs import DRAWING, SHEET, WORD, Vocabulary
from app.errors import UnreadableFileError

_CONTENTS = "[Content_Types].xml"
_PREFIX = (
    r"application/vnd\.(?:openxmlformats-officedocument|ms-(?:word|powerpoint|excel|office))\."
)
_VOCABULARIES: dict[str, Vocabulary | None] = {
    r"(?:wordprocessingml\.)?(?:(?:document|template)\.(?:macroEnabled\.)?main"
    r"|header|footer|footnotes|endnotes)": WORD,
    r"(?:presentationml\.(?:slide|notesSlide)"
    r"|drawing|drawingml\.(?:chart|diagramData|diagramDrawing))": DRAWING,
    r"spreadsheetml\.(?:sharedStrings|worksheet)": SHEET,
    r"(?:(?:presentationml\.)?(?:presentation|slideshow|template)"
    r"|(?:spreadsheetml\.)?(?:sheet|template|sheet\.binary))\.(?:macroEnabled\.)?main": None,
}
"""Content types; those of a file's main part without text of its own have no vocabulary."""

_LINE_END = re.compile("[\r\n]|_x000[ad]_", re.IGNORECASE)
"""In the name of a column."""


def office_parts(archive: Archive) -> Readers:
    """Return the parts with text. Raises `UnreadableFileError`."""
    types = _types(archive)
    parts: dict[str, Read] = {}
    is_office = False
    headings = frozenset(_table_headings(archive, types))
    for name, content_type in types.items():
        for pattern, names in _VOCABULARIES.items():
            if re.fullmatch(_PREFIX + pattern, content_type, re.IGNORECASE):
                is_office = True
                # Most cells' texts are shared strings; a sheet may have millions of numbers.
                has_no_text = "worksheet" in content_type and not archive.has(name, b"inlineStr")
                if names and not has_no_text:
                    parts[name] = _reader(names, headings)
    if not is_office:
        raise UnreadableFileError("not a document of Microsoft Office: parts with text are missing")
    return parts


def _types(archive: Archive) -> dict[str, str]:
    """Return the content type of each part. That of a document may be the one of its extension, as
    the Open XML SDK writes it. Names are compared without case (ECMA-376 part 2)."""
    names = {name.lower(): name for name in sorted(archive.names)}
    types: dict[str, str] = {}
    by_extension: dict[str, str] = {}
    for element, attributes in archive.elements(_CONTENTS):
        content_type = attributes.get("ContentType", "").removesuffix("+xml")
        if element == "Override":
            name = attributes.get("PartName", "").removeprefix("/")
            types[names.get(name.lower(), name)] = content_type
        elif element == "Default":
            by_extension[attributes.get("Extension", "").lower()] = content_type
    for lower, name in names.items():
        types.setdefault(name, by_extension.get(lower.rpartition(".")[2], ""))
    return types


def _reader(names: Vocabulary, headings: frozenset[str]) -> Read:
    kept = headings if names is SHEET else frozenset[str]()
    return lambda xml: run_paragraphs(tokens(xml), names, kept)


def _table_headings(archive: Archive, types: dict[str, str]) -> Iterator[str]:
    """Yield the names of columns of tables, which have to equal the texts of their cells: their
    lines with letters."""
    tables = [name for name, kind in types.items() if kind.endswith("spreadsheetml.table")]
    archive.check(tables)
    for name in tables:
        for element, attributes in archive.elements(name):
            if element == "tableColumn":
                lines = _LINE_END.split(attributes.get("name", ""))
                yield "".join(line for line in lines if any(map(str.isalpha, line)))
