"""CSV and TSV: cells with words. The delimiter, the quotes and all other cells are kept."""

import re
from collections.abc import Iterator, Sequence

from app.documents.prose import Prose, is_code
from app.text.document import Answer, Document, Parts

_DELIMITERS = ",;\t|"
_SAMPLE = 10_000
"""Characters in which the delimiter is looked for."""


def open_table(text: str) -> Document:
    """Return the cells of CSV. Raises `UnreadableFileError` if there are too many."""
    outside = re.sub(r'"[^"]*"', "", text[:_SAMPLE])
    rows = outside.split("\n")
    complete = [row for row in rows[:-1] if row] or rows

    def likelihood(delimiter: str) -> tuple[int, int]:
        """Every row has it; sentences in some rows may have more commas."""
        return min(row.count(delimiter) for row in complete), outside.count(delimiter)

    return Parts(_parts(text, max(_DELIMITERS, key=likelihood)))


def open_tabbed(text: str) -> Document:
    """Return the cells of TSV. Raises as `open_table`."""
    return Parts(_parts(text, "\t"))


def _parts(text: str, delimiter: str) -> Iterator[str | Document]:
    separator = rf"[{delimiter}\r\n]"
    cells = re.compile(rf'"((?:[^"]|"")*+)"(?={separator}|\Z)|[^{delimiter}\r\n]++')
    at = 0
    for cell in cells.finditer(text):
        quoted = cell[1] is not None
        value = cell[1].replace('""', '"') if quoted else cell[0]
        if any(map(str.isalpha, value)) and not is_code(value):
            yield text[at : cell.start()]
            yield _Cell(cell[0], value, quoted=quoted, separator=separator)
            at = cell.end()
    yield text[at:]


class _Cell(Prose):
    """A cell."""

    __slots__ = ("_quoted", "_raw", "_separator")

    def __init__(self, raw: str, value: str, *, quoted: bool, separator: str) -> None:
        super().__init__(value)
        self._raw = raw
        self._quoted = quoted
        self._separator = separator

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """Return the translation, in quotes if the cell has them or it needs them."""
        if [answer.text for answer in answers] == self.texts:
            return self._raw
        value = super().with_translations(answers)
        if self._quoted or value.startswith('"') or re.search(self._separator, value):
            return '"' + value.replace('"', '""') + '"'
        return value
