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
    """Insert the body unchanged if it may be well-formed, else as text."""
    return f"<r>{body if body.startswith('<') and '>' in body else escape(body)}</r>"


def _subtitles(body: str) -> bytes:
    return _file(f"1\n00:00:01,000 --> 00:00:02,000\n{body.strip() or 'a'}\n")


def _catalogue(body: str) -> bytes:
    return _file(f'msgid "{body}"\nmsgstr ""\n'.replace("\n\n", "\n"))


def _json(body: str) -> bytes:
    """Insert the body as one string or several."""
    return _file(f'["{body}"]' if '","' in body else json.dumps([body]))


def _json_file(body: str) -> bytes:
    return _file(f"[{body}1]" if body.endswith(",") else body)


def _word(body: str) -> bytes:
    named = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    inner = body if body.startswith("<w:") else f"<w:p><w:r><w:t>{escape(body)}</w:t></w:r></w:p>"
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(
            "[Content_Types].xml",
            f'<Types><Override PartName="/d.xml" ContentType="{named}.document.main+xml"/></Types>',
        )
        document = f'<w:document xmlns:w="w"><w:body>{inner}</w:body></w:document>'
        file.writestr("d.xml", document.encode("utf-8", "replace"))
    return target.getvalue()


_FORMS: dict[str, tuple[Sequence[str], Wrap]] = {
    "text": ((), str),
    "html": (("markup",), str),
    "xml": (("markup",), _xml),
    ".txt": ((), _file),
    ".html": (("markup",), _file),
    ".xml": (("markup",), lambda body: _file(_xml(body))),
    ".md": ((".md", "markup"), _file),
    ".srt": ((".srt",), _subtitles),
    ".po": ((".po",), _catalogue),
    ".json": ((".json",), _json),
    ".docx": ((".docx",), _word),
}
"""The tables of a format's own delimiters, and how a text or file is created."""

_FILES: dict[str, Wrap] = {".srt": _file, ".po": _file, ".json": _json_file}
"""Formats with units outside of their texts."""

FORMS = tuple(_FORMS)
"""The formats of `cases`."""
