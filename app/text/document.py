"""What holds texts to be translated, and is put together again with their translations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from app.errors import UnreadableFileError
from app.text.inline_tags import WordLink


@dataclass(frozen=True, slots=True)
class Answer:
    """A text's translation; `links` between its words, where there are any to be had."""

    text: str
    links: Sequence[WordLink] | None = None


class Document(Protocol):
    """What a text holds to be translated, and how its translation is put together."""

    @property
    def texts(self) -> list[str]:
        """Each is translated on its own."""

    @property
    def tagged(self) -> list[bool]:
        """Of every text, whether it takes links between words to put its translation together."""

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """The whole, with a translation for each of the texts."""


@dataclass(frozen=True, slots=True)
class PlainText:
    """A document that is one text and nothing else."""

    text: str

    @property
    def texts(self) -> list[str]:
        """The text."""
        return [self.text]

    @property
    def tagged(self) -> list[bool]:
        """It is not."""
        return [False]

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """The translation."""
        [answer] = answers
        return answer.text


MAX_DOCUMENTS = 100_000
"""In a row; a book has a tenth of it. A megabyte of them can take a hundred."""


class Parts:
    """Documents in a row, and between them strings that stay as they are.

    Raises `UnreadableFileError` for more than `MAX_DOCUMENTS`, the rest being left unread.
    """

    def __init__(self, parts: Iterable[str | Document]) -> None:
        self._parts: list[str | Document] = []
        n_documents = 0
        for part in parts:
            n_documents += not isinstance(part, str)
            if n_documents > MAX_DOCUMENTS:
                raise UnreadableFileError(
                    f"a file may have {MAX_DOCUMENTS:,} paragraphs, cells or lines to translate"
                )
            self._parts.append(part)

    @property
    def texts(self) -> list[str]:
        """Of all parts, in order."""
        return [text for part in self._documents for text in part.texts]

    @property
    def tagged(self) -> list[bool]:
        """Of all parts, in order."""
        return [tagged for part in self._documents for tagged in part.tagged]

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """All parts joined."""
        waiting = iter(answers)
        return "".join(
            part
            if isinstance(part, str)
            else part.with_translations(list(islice(waiting, len(part.texts))))
            for part in self._parts
        )

    @property
    def _documents(self) -> list[Document]:
        return [part for part in self._parts if not isinstance(part, str)]
