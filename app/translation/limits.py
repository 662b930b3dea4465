"""Limits of one request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from app.errors import InvalidRequestError, TextTooLongError


@dataclass(frozen=True)
class Limits:
    """Limits of one request; `timeout` in seconds."""

    max_attention_weights: ClassVar[int] = 2_000_000
    max_texts: int
    max_text_characters: int
    timeout: float

    def check_texts(self, texts: Sequence[str], field: str = "text") -> None:
        """Raise `InvalidRequestError` for too many texts, `TextTooLongError` for one too long."""
        if len(texts) > self.max_texts:
            detail = f"List should have at most {self.max_texts} items"
            raise InvalidRequestError.at(f"/{field}", detail)
        if max(map(len, texts)) > self.max_text_characters:
            raise TextTooLongError(
                f"a text may have at most {self.max_text_characters:,} characters"
            )
