"""PO, gettext's message catalogues: fills in missing translations and keeps everything else.

Comments, flags, contexts, headers, obsolete entries and existing translations, fuzzy ones too, are
somebody's work and are preserved exactly.
"""

import gettext
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from app.documents.line_breaks import filled
from app.documents.prose import Prose
from app.errors import UnreadableFileError
from app.text.document import Answer, Document, Parts

WIDTH = 79
"""Columns at which gettext's tools wrap."""

_FIELD = re.compile(r'\s*(msgctxt|msgid|msgid_plural|msgstr|msgstr\[(\d{1,3})\])\s+(".*")\s*')
# Possessive, since possible backtracking would take 100 bytes for each escape.
_QUOTED = re.compile(r'"((?:[^"\\]++|\\.)*+)"')
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)")
_UNESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPED = str.maketrans(
    {character: f"\\{letter}" for letter, character in _UNESCAPED.items()}
    | {'"': '\\"', "\\": "\\\\"}
)
_PLURAL = re.compile(r"\bplural\s*=\s*([^;\n]+)")
MAX_RULE = 300
"""Maximum characters of a plural rule."""


@dataclass(slots=True)
class _Field:
    """A keyword and its string, on lines first … last."""

    keyword: str
    index: int
    first: int
    last: int
    value: str = ""


@dataclass(slots=True)
class _Entry:
    """A message; `forms` are its translations."""

    id: _Field | None = None
    plural: _Field | None = None
    forms: list[_Field] = field(default_factory=list)


def open_catalogue(text: str) -> Document:
    """Return the messages without a translation. Raises `UnreadableFileError` if it is not PO."""
    lines = text.split("\n")
    return Parts(_parts(lines, _entries(lines)))


def _parts(lines: Sequence[str], entries: Sequence[_Entry]) -> Iterator[str | Document]:
    singular = _singular_form(entries)
    at = 0
    for entry in entries:
        for form in entry.forms:
            is_plural = entry.plural is not None and form.index != singular
            source = entry.plural if is_plural else entry.id
            if source is None or form.value or not any(map(str.isalpha, source.value)):
                continue
            yield "".join(line + "\n" for line in lines[at : form.first])
            yield _Form(lines[form.first].partition('"')[0], source)
            yield "\n" if form.last < len(lines) else ""
            at = form.last
    yield "\n".join(lines[at:])


def _entries(lines: Sequence[str]) -> list[_Entry]:
    found: list[_Entry] = []
    current: _Field | None = None
    for number, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith("#"):
            current = None
            continue
        if match := _FIELD.fullmatch(line):
            current = _Field(match[1], int(match[2] or 0), number, number)
            _add(current, found)
        string = match[3] if match else line.strip()
        if current is None or not _QUOTED.fullmatch(string):
            raise UnreadableFileError(f"line {number + 1}: not PO: a keyword or quote is missing")
        current.value += _ESCAPE.sub(_character, string[1:-1])
        current.last = number + 1
    if found and not found[-1].forms:
        raise UnreadableFileError(f"line {len(lines)}: not PO: the last msgid has no msgstr")
    return found


def _add(given: _Field, entries: list[_Entry]) -> None:
    """Add to the entry it belongs to. Raises `UnreadableFileError`."""
    keyword = given.keyword
    if keyword in ("msgctxt", "msgid") and (not entries or entries[-1].forms):
        entries.append(_Entry())
    entry = entries[-1] if entries else _Entry()
    if keyword == "msgid" and entry.id is None:
        entry.id = given
    elif keyword == "msgid_plural" and entry.id and not (entry.plural or entry.forms):
        entry.plural = given
    elif keyword.startswith("msgstr") and entry.id:
        entry.forms.append(given)
    elif keyword != "msgctxt" or entry.id:
        raise UnreadableFileError(f"line {given.first + 1}: not PO: {keyword} is out of order")


def _singular_form(entries: Sequence[_Entry]) -> int:
    """Return the index of the singular form, by the rule in the header."""
    header = next((one for one in entries if one.id and not one.id.value), None)
    rule = _PLURAL.search(header.forms[0].value) if header else None
    if rule is None or len(rule[1]) > MAX_RULE:
        return 0
    try:
        return gettext.c2py(rule[1])(1)
    except (ValueError, ZeroDivisionError, OverflowError, RecursionError):
        return 0


def _character(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _UNESCAPED.get(code, code)


class _Form(Prose):
    """An empty translation; `keyword` includes everything before its quote."""

    __slots__ = ("_is_wrapped", "_keyword")

    def __init__(self, keyword: str, source: _Field) -> None:
        super().__init__(source.value)
        self._keyword = keyword
        self._is_wrapped = source.last - source.first > 1

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """Return the translation as quoted strings, on several lines if the message is."""
        translation = super().with_translations(answers)
        if not self._is_wrapped:
            return f'{self._keyword}"{translation.translate(_ESCAPED)}"'
        strings = [
            string
            for line in re.findall(r"[^\n]*\n|[^\n]+", translation)
            for string in filled(line.translate(_ESCAPED), WIDTH - 3)
            .replace("\n", " \n")
            .split("\n")
        ]
        return "\n".join([self._keyword + '""', *(f'"{string}"' for string in strings)])
