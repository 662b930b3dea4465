"""The entries of a stored glossary as text, in the two formats of DeepL's API.

tsv  one per line, source and target separated by a tab
csv  RFC 4180: records of source and target, optionally followed by languages, which are ignored
"""

import csv
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from app.errors import InvalidRequestError

EntriesFormat = Literal["tsv", "csv"]

MAX_TERM_BYTES = 1024
"""Maximum length of a term in UTF-8, as in DeepL."""


def parse_entries(text: str, form: EntriesFormat, pointer: str = "/entries") -> dict[str, str]:
    """Parse source term → target term.

    Raises `InvalidRequestError` for the first invalid entry, with the text's place in the request.
    """
    try:
        return _parsed(text, form)
    except _InvalidEntriesError as error:
        raise InvalidRequestError.at(pointer, str(error)) from None


class _InvalidEntriesError(ValueError):
    """Its message is the detail of the error."""


def _parsed(text: str, form: EntriesFormat) -> dict[str, str]:
    entries: dict[str, str] = {}
    for number, fields in _records(text, form):
        if not 2 <= len(fields) <= (4 if form == "csv" else 2):
            raise _fault(number, "should have a source and a target term")
        source, target = (term.strip() for term in fields[:2])
        for term in (source, target):
            if reason := _fault_of(term):
                raise _fault(number, reason)
        if source in entries:
            raise _fault(number, "repeats a source term")
        entries[source] = target
    if not entries:
        raise _InvalidEntriesError("There should be at least one entry")
    return entries


def entries_as_tsv(entries: Mapping[str, str]) -> str:
    """Format one line per entry, without a final line break."""
    return "\n".join(f"{source}\t{target}" for source, target in entries.items())


def _records(text: str, form: EntriesFormat) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the fields of non-blank records, numbered from 1."""
    text = text.removeprefix("\ufeff")
    if form == "tsv":
        records: Iterator[Sequence[str]] = (line.split("\t") for line in _lines(text))
    else:
        records = _csv_records(text)
    for number, fields in enumerate(records, start=1):
        if any(field.strip() for field in fields):
            yield number, fields


def _lines(text: str) -> list[str]:
    """Split at line feeds only: other line breaks are invalid in a term."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def _csv_records(text: str) -> Iterator[Sequence[str]]:
    try:
        yield from csv.reader(_lines(text), strict=True)
    except csv.Error as error:
        raise _InvalidEntriesError(f"Invalid CSV: {error}") from None


def _fault_of(term: str) -> str | None:
    if not term:
        return "has an empty term"
    if len(term.encode("utf-8", "surrogatepass")) > MAX_TERM_BYTES:
        return f"has a term of more than {MAX_TERM_BYTES:,} bytes"
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in term):
        return "has a control character or a line break in a term"
    return None


def _fault(number: int, reason: str) -> _InvalidEntriesError:
    return _InvalidEntriesError(f"Entry {number} {reason}")
