"""Stand-ins for a model: what a document is with every text as it was, or in capitals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from app.document import Answer

T = TypeVar("T", covariant=True)


class Opened(Protocol[T]):
    @property
    def texts(self) -> list[str]: ...

    def with_translations(self, answers: Sequence[Answer]) -> T: ...


def translated(document: Opened[T], translate: Callable[[str], str]) -> T:
    return document.with_translations([Answer(translate(text)) for text in document.texts])


def unchanged(document: Opened[T]) -> T:
    return translated(document, str)


def shouted(document: Opened[T]) -> T:
    return translated(document, str.upper)
