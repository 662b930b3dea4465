"""Texts and files that may cost a parser more than their length: repeated and nested units.

There is a unit for every Unicode general category and every delimiter of each format's parser;
brackets of all kinds are nested, left open, and closed without being opened.
"""

import io
import json
import sys
import tomllib
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

_TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("hostile_units.toml").read_text(encoding="utf-8")
)

Wrap: TypeAlias = Callable[[str], "str | bytes"]
"""Creates a text or file of a format from its content."""


@dataclass(frozen=True)
class Case:
    """`make` creates a text or file whose content has about the given number of characters."""

    form: str
    name: str
    make: Callable[[int], str | bytes]


def characters() -> list[str]:
    """Return a character of each general category, width and direction."""
    found: dict[tuple[str, str, str], str] = {}
    for code in range(32, sys.maxunicode + 1):
        character = chr(code)
        category = unicodedata.category(character)
        if category in ("Cn", "Cs"):
            continue
        width = unicodedata.east_asian_width(character)
        direction = unicodedata.bidirectional(character)
        found.setdefault((category, width, direction), character)
    return list(found.values())


def cases(form: str, *, is_own: bool = False) -> Iterator[Case]:
    """Return all cases of a format: text, html, xml, or a file name extension.

    is_own  only with the format's own delimiters
    """
    tables, wrap = _FORMS[form]
    if not is_own:
        tables = ("any", *tables)
    units = [unit for table in tables for unit in _TABLES[table]["units"]]
    brackets = [pair for table in tables for pair in _TABLES[table]["brackets"]]
    if not is_own:
        units = [*characters(), *units]
    found = {case.name: case for case in _cases(form, units, brackets, wrap)}
    if form in _FILES:
        table = _TABLES[f"a file of {form}"]
        for case in _cases(form, table["units"], table["brackets"], _FILES[form]):
            found[f"a file of {case.name}"] = replace(case, name=f"a file of {case.name}")
    return iter(found.values())


def _cases(
    form: str, units: Sequence[str], brackets: Sequence[Sequence[str]], wrap: Wrap
) -> Iterator[Case]:
    def repeated(unit: str) -> Case:
        return Case(form, f"{unit!r} again and again", lambda n: wrap(unit * (n // len(unit))))

    def nested(opening: str, closing: str) -> Case:
        def make(n: int) -> str | bytes:
            depth = n // len(opening + closing)
            return wrap(opening * depth + "a" + closing * depth)

        return Case(form, f"{opening!r} … {closing!r} nested", make)

    def around(opening: str, closing: str) -> Case:
        name = f"{opening!r} 漢… {closing!r}"
        return Case(form, name, lambda n: wrap(opening + "漢" * n + closing))

    def with_tail(unit: str) -> Case:  # for patterns that search for the end of something
        heads = "http://a", "%", "<a ", "a@"

        def make(n: int) -> str | bytes:
            return wrap("\n".join(head + unit * (n // len(heads)) + "x" for head in heads))

        return Case(form, f"{unit!r} behind {heads}", make)

    yield from map(repeated, units)
    for opening, closing in brackets:
        for unit in (opening, opening + "a", opening + " a. ", closing or opening):
            yield repeated(unit)
        yield nested(opening, closing)
        yield around(opening, closing)
    yield from map(with_tail, (".", " ", "0", "*", "é", "漢", ")"))


def _file(body: str) -> bytes:
    return body.encode("utf-8", "replace")


def _xml(body: str) -> str:
    """Insert the body as markup if it may be well-formed, else as text."""
    return f"<r>{_well_formed(body)}</r>"


def _subtitles(body: str) -> bytes:
    return _file(f"1\n00:00:01,000 --> 00:00:02,000\n{body.strip() or 'a'}\n")


def _catalogue(body: str) -> bytes:
    return _file(f'msgid "{body}"\nmsgstr ""\n'.replace("\n\n", "\n"))


def _json(body: str) -> bytes:
    """Insert the body as one string or several."""
    return _file(f'["{body}"]' if '","' in body else json.dumps([body]))


def _json_file(body: str) -> bytes:
    return _file(f"[{body}1]" if body.endswith(",") else body)


def _web_subtitles(body: str) -> bytes:
    return _file(f"WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n{body.strip() or 'a'}\n")


def _bilingual(body: str) -> bytes:
    unit = '<trans-unit id="1"><source>{}</source></trans-unit>'
    units = body if body.startswith("<trans-unit") else unit.format(_well_formed(body))
    return _file(f'<xliff version="1.2"><file><body>{units}</body></file></xliff>')


def _well_formed(body: str) -> str:
    return body if body.startswith("<") and ">" in body else escape(body)


def _archive(start: str, paragraph: str, **parts: str) -> Wrap:
    """Create archives with these parts; `CONTENT` stands for the content, in a paragraph unless it
    starts as one does."""

    def wrap(body: str) -> bytes:
        inner = body if body.startswith(start) else paragraph.format(escape(body))
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
            for name, written in parts.items():
                content = written.replace("CONTENT", inner)
                file.writestr(name, content.encode("utf-8", "replace"))
        return target.getvalue()

    return wrap


def _office(start: str, paragraph: str, document: str, *kinds: str) -> Wrap:
    """Create archives of Microsoft Office; the first kind is that of the part with the content."""
    prefix = "application/vnd.openxmlformats-officedocument."
    overrides = "".join(
        f'<Override PartName="/{number}.xml" ContentType="{prefix}{kind}+xml"/>'
        for number, kind in enumerate(kinds)
    )
    others = {f"{number}.xml": "<a/>" for number in range(1, len(kinds))}
    types = {"[Content_Types].xml": f"<Types>{overrides}</Types>"}
    return _archive(start, paragraph, **types, **{"0.xml": document}, **others)


_WORD = _office(
    "<w:", "<w:p><w:r><w:t>{}</w:t></w:r></w:p>",
    '<w:document xmlns:w="w"><w:body>CONTENT</w:body></w:document>',
    "wordprocessingml.document.main",
)  # fmt: skip
_SLIDES = _office(
    "<a:", "<a:p><a:r><a:t>{}</a:t></a:r></a:p>",
    '<p:sld xmlns:p="p" xmlns:a="a"><p:txBody>CONTENT</p:txBody></p:sld>',
    "presentationml.slide", "presentationml.presentation.main",
)  # fmt: skip
_SHEETS = _office(
    "<si", "<si><t>{}</t></si>", '<sst xmlns="s">CONTENT</sst>',
    "spreadsheetml.sharedStrings", "spreadsheetml.sheet.main",
)  # fmt: skip
_OPEN_DOCUMENT = _archive(
    "<text:", "<text:p>{}</text:p>",
    **{"content.xml": '<o:document xmlns:text="t" xmlns:o="o">CONTENT</o:document>'},
)  # fmt: skip
_BOOK = _archive(
    "<", "<p>{}</p>",
    **{
        "META-INF/container.xml": '<container><rootfile full-path="a.opf"/></container>',
        "a.opf": '<package><item href="a.xhtml" media-type="application/xhtml+xml"/></package>',
        "a.xhtml": "<html><body>CONTENT</body></html>",
    },
)  # fmt: skip


def _portable(body: str) -> bytes:
    """A PDF of a page; content that starts with an operator is its program, else its text."""
    escaped = body.replace("\\", "").replace("(", "").replace(")", "")
    program = body if body.startswith(_OPERATORS) else f"BT /F1 12 Tf ({escaped}) Tj ET"
    stream = zlib.compress(program.encode("latin-1", "replace"))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    written = b"%PDF-1.4\n"
    starts = []
    for number, one in enumerate(objects, start=1):
        starts.append(len(written))
        written += b"%d 0 obj %s endobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    head = b"xref\n0 6\n0000000000 65535 f \n"
    end = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(written)
    return written + head + table + end


_OPERATORS = ("BT", "q ", "[", "<", "/", "1 ")
_FORMS: dict[str, tuple[Sequence[str], Wrap]] = {
    "text": ((), str),
    "html": (("markup",), str),
    "xml": (("markup",), _xml),
    ".txt": ((), _file),
    ".html": (("markup",), _file),
    ".xml": (("markup",), lambda body: _file(_xml(body))),
    ".md": ((".md", "markup"), _file),
    ".srt": ((".srt",), _subtitles),
    ".vtt": ((".srt",), _web_subtitles),
    ".csv": ((".csv",), _file),
    ".po": ((".po",), _catalogue),
    ".json": ((".json",), _json),
    ".xlf": ((".xlf",), _bilingual),
    ".docx": ((".docx",), _WORD),
    ".pptx": ((".pptx",), _SLIDES),
    ".xlsx": ((".xlsx",), _SHEETS),
    ".odt": ((".odt",), _OPEN_DOCUMENT),
    ".epub": (("markup",), _BOOK),
    ".pdf": ((".pdf",), _portable),
}
"""The tables of a format's own delimiters, and how a text or file is created."""

_FILES: dict[str, Wrap] = {
    ".srt": _file, ".vtt": _file, ".po": _file, ".json": _json_file, ".xlf": _file, ".pdf": _file,
}  # fmt: skip
"""Formats with units outside of their texts."""

COMPRESSED = {".docx", ".pptx", ".xlsx", ".odt", ".epub", ".pdf"}
FORMS = tuple(_FORMS)
"""The formats of `cases`."""
