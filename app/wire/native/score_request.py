"""The native dialect's body of POST /score."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from app.errors import InvalidRequestError
from app.wire.native.request import Texts, WireRequest
from app.wire.native.translate_request import MAX_LANGUAGE_CODE, AttentionChoice
from model.decoding.hypothesis import MAX_LENGTH_PENALTY


class ScoreRequest(WireRequest):
    """The body of POST /score: texts and a given translation of each."""

    text: Texts
    translation: Texts
    source: str | None = Field(
        None,
        max_length=MAX_LANGUAGE_CODE,
        description="BCP-47 code; optional if the target implies it.",
    )
    target: str | None = Field(
        None,
        max_length=MAX_LANGUAGE_CODE,
        description="BCP-47 code; optional if the source implies it.",
    )
    length_penalty: float | None = Field(
        None, ge=0, le=MAX_LENGTH_PENALTY, allow_inf_nan=False,
        description="α of Wu et al. 2016; 0 favours short translations. Default: the checkpoint's.",
    )  # fmt: skip
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
