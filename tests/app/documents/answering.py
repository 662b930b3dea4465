"""Sample documents, and fake models: identity and upper case."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from app.text.document import Answer

T_co = TypeVar("T_co", covariant=True)


class TranslatableDocument(Protocol[T_co]):
    @property
    def texts(self) -> list[str]: ...

    def with_translations(self, answers: Sequence[Answer]) -> T_co: ...


def translated(document: TranslatableDocument[T_co], translate: Callable[[str], str]) -> T_co:
    return document.with_translations([Answer(translate(text)) for text in document.texts])


def unchanged(document: TranslatableDocument[T_co]) -> T_co:
    return translated(document, str)


def uppercased(document: TranslatableDocument[T_co]) -> T_co:
    return translated(document, str.upper)


def sample(name: str) -> str:
    return (Path(__file__).parent / "samples" / name).read_text("utf-8")
