"""The entries of a stored glossary as text, in the two formats of DeepL's API.

tsv  one per line, source and target separated by a tab
csv  RFC 4180: records of source and target, optionally followed by languages, which are ignored
"""

import csv
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal

from app.errors import InvalidRequestError

EntriesFormat = Literal["tsv", "csv"]

MAX_TERM_BYTES = 1024
"""Maximum length of a term in UTF-8, as in DeepL."""


def parse_entries(text: str, form: EntriesFormat, pointer: str = "/entries") -> dict[str, str]:
    """Parse source term → target term.

    Raises `InvalidRequestError` for the first invalid entry, with the text's place in the request.
    """
    entries: dict[str, str] = {}

    def check(fields: Sequence[str]) -> str | None:
        """Return what is wrong with a record, or add it."""
        if not 2 <= len(fields) <= (4 if form == "csv" else 2):
            return "should have a source and a target term"
        source, target = (term.strip() for term in fields[:2])
        if fault := _fault_of(source) or _fault_of(target):
            return fault
        if source in entries:
            return "repeats a source term"
        entries[source] = target
        return None

    # At line feeds only: other line breaks are invalid in a term. Each of several files that were
    # joined may begin with a byte order mark, and in a term it would match no text.
    lines = [line.removesuffix("\r") for line in text.replace("\ufeff", "").split("\n")]
    records = csv.reader(lines, strict=True) if form == "csv" else (x.split("\t") for x in lines)
    try:
        for number, fields in enumerate(records, start=1):
            if any(field.strip() for field in fields) and (fault := check(fields)):
                raise InvalidRequestError.at(pointer, f"Entry {number} {fault}")
    except csv.Error as error:
        raise InvalidRequestError.at(pointer, f"Invalid CSV: {error}") from None
    if not entries:
        raise InvalidRequestError.at(pointer, "There should be at least one entry")
    return entries


def entries_as_tsv(entries: Mapping[str, str]) -> str:
    """Format one line per entry, without a final line break."""
    return "\n".join(f"{source}\t{target}" for source, target in entries.items())


def _fault_of(term: str) -> str | None:
    if not term:
        return "has an empty term"
    if len(term.encode("utf-8", "surrogatepass")) > MAX_TERM_BYTES:
        return f"has a term of more than {MAX_TERM_BYTES:,} bytes"
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in term):
        return "has a control character or a line break in a term"
    return None
