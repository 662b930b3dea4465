"""The native dialect's body of POST /score."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from app.errors import InvalidRequestError
from app.translation.requests import ScoringRequest
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

    def to_pipeline(self) -> ScoringRequest:
        """Return the request in the pipeline's terms."""
        return ScoringRequest(
            self.text,
            self.translation,
            self.source,
            self.target,
            self.length_penalty,
            self.attention.selection() if self.attention else None,
            self.alignment,
        )
