"""What one request may ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import InvalidRequestError, TextTooLongError


@dataclass(frozen=True)
class Limits:
    """What one request may ask for; `timeout` in seconds."""

    max_texts: int
    max_text_characters: int
    max_attention_weights: int
    timeout: float

    def check_texts(self, texts: Sequence[str], field: str = "text") -> None:
        """Raise `InvalidRequestError` for too many, `TextTooLongError` for one too long."""
        if len(texts) > self.max_texts:
            detail = f"List should have at most {self.max_texts} items"
            raise InvalidRequestError.at(f"/{field}", detail)
        if max(map(len, texts)) > self.max_text_characters:
            raise TextTooLongError(
                f"a text may have {self.max_text_characters:,} characters at most"
            )
