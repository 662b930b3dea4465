"""JSON: translates string values. Keys, numbers, order, indentation and escapes are kept."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import cast

from app.documents.prose import Prose, is_code
from app.errors import UnreadableFileError
from app.text.document import Answer, Document, Parts

MAX_VALUES = 500_000
"""Maximum arrays, and maximum strings, of a file: checking its syntax takes 60 bytes for each."""

# Possessive, since possible backtracking would take 100 bytes for each escape.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"(\s*:)?')
_SURROGATE = re.compile("[\ud800-\udfff]")


def open_json(text: str) -> Document:
    """Return the document's string values. Raises `UnreadableFileError`."""
    if text.count("[") > MAX_VALUES or text.count('"') > 2 * MAX_VALUES:
        raise UnreadableFileError(f"a JSON file may have {MAX_VALUES:,} arrays and strings each")
    try:
        # Only the syntax is checked, and Python limits the digits of a number that it parses.
        json.loads(text, parse_int=bool, parse_float=bool, object_pairs_hook=bool)
    except json.JSONDecodeError as error:
        raise UnreadableFileError(
            f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}"
        ) from None
    except RecursionError:
        raise UnreadableFileError("line 1: JSON is nested too deeply") from None
    return Parts(_parts(text))


def _parts(text: str) -> Iterator[str | Document]:
    is_ascii = text.isascii() and re.search(r"\\u(?!00[01])", text) is not None
    at = 0
    for string in _STRING.finditer(text):
        if string[1] is None and _is_language(value := cast("str", json.loads(string[0]))):
            yield text[at : string.start()]
            yield _String(string[0], value, is_ascii=is_ascii)
            at = string.end()
    yield text[at:]


def _is_language(value: str) -> bool:
    return any(map(str.isalpha, value)) and not _SURROGATE.search(value) and not is_code(value)


class _String(Prose):
    """A string value."""

    __slots__ = ("_is_ascii", "_raw")

    def __init__(self, raw: str, value: str, *, is_ascii: bool) -> None:
        super().__init__(value)
        self._raw = raw
        self._is_ascii = is_ascii

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """Return the translation as JSON, escaped like the file and the string."""
        value = super().with_translations(answers)
        if value == json.loads(self._raw):
            return self._raw
        written = json.dumps(value, ensure_ascii=self._is_ascii)
        return written.replace("/", "\\/") if "\\/" in self._raw else written
