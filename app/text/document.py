"""Documents: containers of texts that are reassembled with their translations."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeAlias, TypeVar

from app.concurrency.threads import check_abandoned
from app.errors import UnreadableFileError
from app.text.word_links import WordLink


@dataclass(frozen=True, slots=True)
class Answer:
    """A text's translation; `links` between words, if available, and both texts' languages."""

    text: str
    links: Sequence[WordLink] | None = None
    languages: tuple[str, str] = ("", "")


Result_co = TypeVar("Result_co", str, bytes, covariant=True)


class Container(Protocol[Result_co]):
    """Extracts texts to translate, and inserts their translations."""

    @property
    def texts(self) -> list[str]:
        """The texts, which are translated separately."""

    @property
    def tagged(self) -> list[bool]:
        """Whether inserting the translation needs word links, for each text."""

    def with_translations(self, answers: Sequence[Answer]) -> Result_co:
        """Return the document with a translation of each text."""


Document: TypeAlias = Container[str]
"""A document that is text, or a part of one."""


class SingleText:
    """A document with one text. Subclasses define how its translation is written."""

    __slots__ = ()  # a file may have 100,000

    text: str
    is_tagged: bool = False

    @property
    def texts(self) -> list[str]:
        return [self.text]

    @property
    def tagged(self) -> list[bool]:
        return [self.is_tagged]

    def with_translations(self, answers: Sequence[Answer]) -> str:
        [answer] = answers
        return self.written(answer)

    def written(self, answer: Answer) -> str:
        return answer.text


class PlainText(SingleText):
    """A document that consists of one text."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


MAX_DOCUMENTS = 50_000
"""Maximum in a row; a book has a fifth of it. One takes up to 1 kB of memory."""


class Parts:
    """A sequence of documents and unchanged strings.

    Raises `UnreadableFileError` for more than `MAX_DOCUMENTS`, without reading the rest.
    """

    __slots__ = ("__weakref__", "_parts")

    def __init__(self, parts: Iterable[str | Document]) -> None:
        self._parts: list[str | Document] = []
        between: list[str] = []  # strings in a row are kept as one
        for part in parts:
            check_abandoned()
            if isinstance(part, str):
                between.append(part)
                continue
            self._parts += ["".join(between), part]
            between = []
            if len(self._parts) > 2 * MAX_DOCUMENTS:
                raise UnreadableFileError(
                    f"a document may have {MAX_DOCUMENTS:,} paragraphs, cells or lines to translate"
                )
        self._parts.append("".join(between))

    @property
    def texts(self) -> list[str]:
        return [text for part in self._parts if not isinstance(part, str) for text in part.texts]

    @property
    def tagged(self) -> list[bool]:
        return [
            tagged for part in self._parts if not isinstance(part, str) for tagged in part.tagged
        ]

    def with_translations(self, answers: Sequence[Answer]) -> str:
        return "".join(translated(self._parts, answers))


def translated(parts: Iterable[str | Document], answers: Sequence[Answer]) -> Iterator[str]:
    """Yield the parts in order, each document with its share of the translations."""
    remaining = iter(answers)
    for part in parts:
        check_abandoned()
        if isinstance(part, str):
            yield part
        else:
            yield part.with_translations(list(islice(remaining, len(part.texts))))
