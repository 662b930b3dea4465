"""The native dialect's body of POST /score."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from app.errors import InvalidRequestError
from app.wire.native.fields import AttentionChoice, GivenSource, LengthPenalty, Target
from app.wire.native.request import Texts, WireRequest


class ScoreRequest(WireRequest):
    """The body of POST /score: texts and a given translation of each."""

    text: Texts
    translation: Texts
    source: GivenSource = None
    target: Target = None
    length_penalty: LengthPenalty = None
    attention: AttentionChoice = None
    alignment: bool = Field(False, description="Link the words of text and translation.")

    @classmethod
    def parse(cls, values: object) -> Self:
        """Parse untrusted data. Raises `InvalidRequestError` with the location of each error."""
        request = super().parse(values)
        if len(request.text) != len(request.translation):
            raise InvalidRequestError.at(
                "/translation",
                f"List should have as many items as text, {len(request.text)}",
            )
        return request
