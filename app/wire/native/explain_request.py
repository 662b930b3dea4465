"""The body of POST /explain, as it is on the wire."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from app.wire.native.request import WireRequest, without_surrogates
from app.wire.native.translate_request import (
    MAX_BEAM_SIZE,
    MAX_LANGUAGE_CODE,
    GlossaryEntries,
    Terms,
    TranslateRequest,
)
from model.decoding.hypothesis import MAX_LENGTH_PENALTY
from model.engine.protocol import AttentionKind

MAX_POSITIONS = 512
"""Rows of the positional encoding in one answer."""


class ExaminedAttention(BaseModel):
    """Which row of which attention to compute with numbers; all count from 0."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: AttentionKind = "cross"
    layer: int | None = Field(None, ge=0, description="Default: the last.")
    head: int = Field(0, ge=0)
    token: int = Field(
        0, ge=0, description="The token that looks: of the target, or of the source for encoder."
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("text", "Input should be a string")
    return without_surrogates(value)


class ExplainRequest(WireRequest):
    """The body of POST /explain: one sentence, searched as POST /translate does."""

    text: Annotated[str, BeforeValidator(_text)]
    source: str | None = Field(
        None, max_length=MAX_LANGUAGE_CODE,
        description="BCP-47 code, or auto; may be left out where the target leaves one choice.",
    )  # fmt: skip
    target: str | None = Field(
        None, max_length=MAX_LANGUAGE_CODE,
        description="BCP-47 code; may be left out where the source leaves one choice.",
    )  # fmt: skip
    beam_size: int | None = Field(
        None, ge=1, le=MAX_BEAM_SIZE, description="1 is greedy; the default is the checkpoint's."
    )
    alternatives: int = Field(
        0, ge=0, lt=MAX_BEAM_SIZE, description="How long the search goes on; as POST /translate."
    )
    length_penalty: float | None = Field(
        None, ge=0, le=MAX_LENGTH_PENALTY, allow_inf_nan=False,
        description="α of Wu et al. 2016. Default: the checkpoint's.",
    )  # fmt: skip
    max_target_tokens: int | None = Field(
        None, ge=1,
        description="Most target tokens, the end of sentence counted. Default: source tokens + 50.",
    )  # fmt: skip
    split_sentences: bool = Field(
        True, description="false: the text is one sentence, whatever full stops it has."
    )
    glossary: GlossaryEntries = Field(
        {}, description="Terms of the source and what each is translated as."
    )
    do_not_translate: Terms = Field((), description="Terms that stay as they are.")
    attention: ExaminedAttention | None = Field(
        None, description="A row of attention to compute step by step."
    )
    positions: int = Field(
        0, ge=0, le=MAX_POSITIONS, description="Rows of the positional encoding to answer with."
    )

    @property
    def as_translation(self) -> TranslateRequest:
        """The request of POST /translate that is searched in the same way."""
        shared = {
            name: getattr(self, name) for name in self.model_fields_set - {"attention", "positions"}
        }
        return TranslateRequest(**shared | {"text": [self.text]})
