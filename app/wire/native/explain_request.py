"""The native dialect's body of POST /explain."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from app.translation.requests import TranslationRequest
from app.wire.native.fields import (
    MAX_BEAM_SIZE,
    BeamSize,
    GlossaryEntries,
    LengthPenalty,
    MaxTargetTokens,
    Source,
    Target,
    Terms,
)
from app.wire.native.request import WireRequest, without_surrogates
from app.wire.native.translate_request import TranslateRequest
from model.engine.explanations import AttentionKind

MAX_POSITIONS = 512
"""Maximum rows of the positional encoding in a response."""


class ExaminedAttention(BaseModel):
    """Selects the row of attention to show in numbers; all indices count from 0."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: AttentionKind = "cross"
    layer: int | None = Field(None, ge=0, description="Default: the last.")
    head: int = Field(0, ge=0)
    token: int = Field(
        0, ge=0, description="Position of the query: in the target, or in the source for encoder."
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("text", "Input should be a string")
    return without_surrogates(value)


class ExplainRequest(WireRequest):
    """The body of POST /explain: one sentence, searched as POST /translate does."""

    text: Annotated[str, BeforeValidator(_text)]
    source: Source = None
    target: Target = None
    beam_size: BeamSize = None
    alternatives: int = Field(
        0,
        ge=0,
        lt=MAX_BEAM_SIZE,
        description="When the search stops, as in POST /translate.",
    )
    length_penalty: LengthPenalty = None
    max_target_tokens: MaxTargetTokens = None
    split_sentences: bool = Field(
        True, description="false: the text is one sentence, whatever punctuation it contains."
    )
    glossary: GlossaryEntries = Field({})
    do_not_translate: Terms = ()
    attention: ExaminedAttention | None = Field(
        None, description="A row of attention to show step by step."
    )
    positions: int = Field(
        0, ge=0, le=MAX_POSITIONS, description="Rows of the positional encoding to return."
    )

    def to_pipeline(self) -> TranslationRequest:
        """Return the request that runs the same search, as that of POST /translate would be."""
        shared = {
            name: getattr(self, name) for name in self.model_fields_set - {"attention", "positions"}
        }
        return TranslateRequest(**shared | {"text": [self.text]}).to_pipeline()
