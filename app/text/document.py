"""Documents: containers of texts that are reassembled with their translations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeAlias, TypeVar

from app.concurrency.abandonment import check_wanted
from app.errors import UnreadableFileError
from app.text.word_links import WordLink


@dataclass(frozen=True, slots=True)
class Answer:
    """A text's translation; `links` between words, if available."""

    text: str
    links: Sequence[WordLink] | None = None


Result_co = TypeVar("Result_co", str, bytes, covariant=True)


class Container(Protocol[Result_co]):
    """Extracts texts to translate, and inserts their translations."""

    @property
    def texts(self) -> list[str]:
        """Return the texts, which are translated separately."""

    @property
    def tagged(self) -> list[bool]:
        """Return for each text whether inserting its translation needs word links."""

    def with_translations(self, answers: Sequence[Answer]) -> Result_co:
        """Return the document with a translation of each text."""


Document: TypeAlias = Container[str]
"""A document that is text, or a part of one."""


class PlainText:
    """A document that consists of one text."""

    __slots__ = ("text",)  # a file may have 100,000

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def texts(self) -> list[str]:
        """The text."""
        return [self.text]

    @property
    def tagged(self) -> list[bool]:
        """Return False for the text."""
        return [False]

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """The translation."""
        [answer] = answers
        return answer.text


MAX_DOCUMENTS = 50_000
"""In a row; a book has a fifth of it. One takes up to 1 kB of memory."""


class Parts:
    """A sequence of documents and unchanged strings.

    Raises `UnreadableFileError` for more than `MAX_DOCUMENTS`, without reading the rest.
    """

    __slots__ = ("__weakref__", "_parts")

    def __init__(self, parts: Iterable[str | Document]) -> None:
        self._parts: list[str | Document] = []
        between: list[str] = []
        for part in parts:
            check_wanted()
            if isinstance(part, str):
                between.append(part)
                continue
            self._add(between)
            between = []
            self._parts.append(part)
            if len(self._parts) > 2 * MAX_DOCUMENTS:
                raise UnreadableFileError(
                    f"a document may have {MAX_DOCUMENTS:,} paragraphs, cells or lines to translate"
                )
        self._add(between)

    def _add(self, strings: Sequence[str]) -> None:
        """Add what stands between two documents, as one string, which may be empty."""
        self._parts.append("".join(strings))

    @property
    def texts(self) -> list[str]:
        """Concatenate those of all parts, in order."""
        return [text for part in self._documents for text in part.texts]

    @property
    def tagged(self) -> list[bool]:
        """Concatenate those of all parts, in order."""
        return [tagged for part in self._documents for tagged in part.tagged]

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """Join all parts."""
        waiting = iter(answers)
        return "".join(_translated(part, waiting) for part in self._parts)

    @property
    def _documents(self) -> list[Document]:
        return [part for part in self._parts if not isinstance(part, str)]


def _translated(part: str | Document, waiting: Iterator[Answer]) -> str:
    check_wanted()
    if isinstance(part, str):
        return part
    return part.with_translations(list(islice(waiting, len(part.texts))))
