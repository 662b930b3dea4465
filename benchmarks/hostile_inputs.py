"""Texts and files that may cost a parser more than their length: repeated and nested units.

There is a unit for every Unicode general category and every delimiter of each format's parser;
brackets of all kinds are nested, left open, and closed without being opened.
"""

from __future__ import annotations

import io
import json
import sys
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TypeAlias

TEXT_BRACKETS = (
    ("(", ")"), ("[", "]"), ("{", "}"), ("«", "»"), ("“", "”"), ("„", "“"), ("‘", "’"),
    ("‹", "›"), ("「", "」"), ("`", "`"), ("'", "'"), ('"', '"'), ("{{", "}}"),
    ("{%", "%}"), ("<!--", "-->"), ("<![CDATA[", "]]>"), ("<", ">"), ("<a>", "</a>"),
    ("{n, plural, ", "}"),
)  # fmt: skip
TEXT_UNITS = (
    ". ", "a. ", "a.b", "Mr. ", "M. ", "! ", "?.", "…", "1. ", "1.5 ", "- ", "a\n",
    "a \n", "\r", "\r\n", "\n ", "\u2028", "\f", "e\u0301", "👍🏽", "🏳️‍🌈", "漢字", "ไทย",
    "한국어", "नु", "l'a ", "a-", "http://", "www.", "http://a.b/", "a@", "a@a.", "%", "%0",
    "%1$", "0", "{a", "{a:", "{{a", "${", "<a ", "<a b=", '<a b="', "&lt;b&gt;a",
    "&lt;b ", "a ", "  ", "a(", "a) ", ", a", "X", "a\u200b", "\u202e", "€ 5 ",
)  # fmt: skip
_MARKUP_BRACKETS = (
    ("<b>", "</b>"), ("<b>a", "</b>"), ("<div>", "</div>"), ("<p>a", "</p>"),
    ("<pre>", "</pre>"), ('<a b="c">', "</a>"), ("<b translate='no'>", "</b>"),
    ("&lt;b&gt;", "&lt;/b&gt;"), ("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?a ", "?>"),
    ("<!DOCTYPE a [", "]>"),
)  # fmt: skip
_MARKUP_UNITS = (
    "<br/>", "a <br/> ", "<b>a</b>", "<b>a</b> ", "<b> </b>", "&amp;", "&#65;", "&lt;",
    "&eacute;", "&", "&#9", "<", "</", "<!", "<a", '<a b="', "<a b=c ", "a\n",
    "<x-y.z:a/>", "<script>", "<title>", "<!---", "<p>a",
)  # fmt: skip
_MARKDOWN_BRACKETS = (
    ("*", "*"), ("**", "**"), ("_", "_"), ("~~", "~~"), ("[", "](u)"), ("![", "](u)"),
    ("[a](", ")"), ("<", ">"), ("> ", ""), ("- ", ""), ("*a ", " a*"), ("*a _", "_ a*"),
    ("[^", "]"), ("$", "$"),
)  # fmt: skip
_MARKDOWN_UNITS = (
    "# a\n", "- a\n", "1. a\n", "> a\n", "    a\n", "```\n", "| a | b |\n", "|", "|a",
    "|-|-|\n", "a\n---\n", "***\n", "[a]: b\n", "[a]\n\n", "[^a]: b\n", "[^a] ", "\\",
    "\\*", "a  \n", "<b>", "&amp;", "~", "*a", "a*", "**a_ ", "![", "<a@b.c>", "](",
    "[](", "$a$ ", ":::\n", "[!NOTE]\n", "---\n", "\t",
)  # fmt: skip
_SUBTITLE_UNITS = (
    "<i>", "<i>a</i> ", "{\\an8}", "{\\", "- a\n", "a\n", "</i>", "<font", "-->", "♪ ",
    ". ", "<i>a\n",
)  # fmt: skip
_CATALOGUE_UNITS = ("\\", "\\n", '"\n"', "\\x", "\\0", "%s", "a\\n")
_JSON_UNITS = ("\\", "\\u00e9", '"', "a\n", "\\\\", '","', '":"')
_WORD_BRACKETS = (
    ("<w:p>", "</w:p>"), ("<w:ins>", "</w:ins>"), ("<w:hyperlink>", "</w:hyperlink>"),
    ("<w:sdt><w:sdtContent>", "</w:sdtContent></w:sdt>"), ("<w:r>", "</w:r>"),
    ("<w:x>", "</w:x>"), ("<w:r><w:pict><w:p>", "</w:p></w:pict></w:r>"),
    ("<w:tbl>", "</w:tbl>"),
    (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>',
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
    ),
)  # fmt: skip
_WORD_UNITS = (
    "<w:p/>", "<w:p></w:p>", "<w:p><w:r><w:t>a</w:t></w:r></w:p>",
    "<w:r><w:t>a</w:t></w:r>", "<w:r/>",
    "<w:r><w:t>a</w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>b</w:t></w:r>",
    "<w:r><w:tab/></w:r>", "<w:r><w:t>a</w:t><w:br/></w:r>", "<w:proofErr/>",
    "<w:hyperlink><w:r><w:t>a</w:t></w:r></w:hyperlink>",
    '<w:r><w:fldChar w:fldCharType="begin"/></w:r>', "<w:bookmarkStart/>",
    "<w:r><w:pict/></w:r>",
)  # fmt: skip


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
    units, brackets, wrap = _FORMS[form]
    if not is_own:
        units = (*characters(), *TEXT_UNITS, *units)
        brackets = (*TEXT_BRACKETS, *brackets)
    found = {case.name: case for case in _cases(form, units, brackets, wrap)}
    if form in _FILES:
        for case in _cases(form, *_FILES[form]):
            found[f"a file of {case.name}"] = replace(case, name=f"a file of {case.name}")
    return iter(found.values())


def _cases(
    form: str, units: Sequence[str], brackets: Sequence[tuple[str, str]], wrap: Wrap
) -> Iterator[Case]:
    for unit in units:
        yield _repeated(form, unit, wrap)
    for opening, closing in brackets:
        yield _repeated(form, opening, wrap)
        yield _repeated(form, opening + "a", wrap)
        yield _repeated(form, opening + " a. ", wrap)
        yield _repeated(form, closing or opening, wrap)
        yield _nested(form, opening, closing, wrap)
        yield _around(form, opening, closing, wrap)
    for unit in (".", " ", "0", "*", "é", "漢", ")"):
        yield _with_tail(form, unit, wrap)


def _repeated(form: str, unit: str, wrap: Wrap) -> Case:
    return Case(form, f"{unit!r} again and again", lambda n: wrap(unit * (n // len(unit))))


def _nested(form: str, opening: str, closing: str, wrap: Wrap) -> Case:
    def make(n: int) -> str | bytes:
        depth = n // len(opening + closing)
        return wrap(opening * depth + "a" + closing * depth)

    return Case(form, f"{opening!r} … {closing!r} nested", make)


def _around(form: str, opening: str, closing: str, wrap: Wrap) -> Case:
    return Case(form, f"{opening!r} 漢… {closing!r}", lambda n: wrap(opening + "漢" * n + closing))


def _with_tail(form: str, unit: str, wrap: Wrap) -> Case:
    """For patterns that search for the end of something."""
    heads = "http://a", "%", "<a ", "a@"
    return Case(
        form,
        f"{unit!r} behind {heads}",
        lambda n: wrap("\n".join(head + unit * (n // len(heads)) + "x" for head in heads)),
    )


def _text(body: str) -> str:
    return body


def _file(body: str) -> bytes:
    return body.encode("utf-8", "replace")


def _xml(body: str) -> str:
    """Insert the body unchanged if it may be well-formed, else as text."""
    return f"<r>{body if body.startswith('<') and '>' in body else escape(body)}</r>"


def _xml_file(body: str) -> bytes:
    return _file(_xml(body))


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


_FORMS: dict[str, tuple[tuple[str, ...], tuple[tuple[str, str], ...], Wrap]] = {
    "text": ((), (), _text),
    "html": (_MARKUP_UNITS, _MARKUP_BRACKETS, _text),
    "xml": (_MARKUP_UNITS, _MARKUP_BRACKETS, _xml),
    ".txt": ((), (), _file),
    ".html": (_MARKUP_UNITS, _MARKUP_BRACKETS, _file),
    ".xml": (_MARKUP_UNITS, _MARKUP_BRACKETS, _xml_file),
    ".md": (_MARKDOWN_UNITS, (*_MARKDOWN_BRACKETS, *_MARKUP_BRACKETS), _file),
    ".srt": (_SUBTITLE_UNITS, (("<i>", "</i>"), ("{\\", "}")), _subtitles),
    ".po": (_CATALOGUE_UNITS, (), _catalogue),
    ".json": (_JSON_UNITS, (), _json),
    ".docx": (_WORD_UNITS, _WORD_BRACKETS, _word),
}

_FILES: dict[str, tuple[tuple[str, ...], tuple[tuple[str, str], ...], Wrap]] = {
    ".srt": (
        ("1\n00:00:01,000 --> 00:00:02,000\na\n\n", "1\n", "00:00:01,000 --> 00:00:02,000\n"),
        (), _file,
    ),
    ".po": (
        (
            'msgid "a"\nmsgstr ""\n\n', 'msgid ""\n', 'msgctxt "a"\n', 'msgid_plural "a"\n', "#\n",
            "#~ ", "#, fuzzy\n", 'msgstr[0] "a"\n', '"a"\n', '"',
        ),
        (), _file,
    ),
    ".json": (
        ("[],", '"a b",', '{"a":1},', "1,", "1", "\n"), (("[", "]"), ('{"a":', "}")), _json_file
    ),
}  # fmt: skip
"""Units of a file format outside of its texts."""

FORMS = tuple(_FORMS)
"""The formats of `cases`."""
