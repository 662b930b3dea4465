"""What POST /explain answers, as it is on the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from app.wire.native.answers import Segment, Usage
from model.engine.explanations import AttentionKind


class LikelyToken(BaseModel):
    """A token that may come next."""

    piece: str
    log_prob: float
    probability: float


class LiveBeam(BaseModel):
    """A hypothesis that is alive when a step begins."""

    parent: int | None = Field(description="its place among the beams of the step before")
    piece: str | None = Field(description="its last token; null at the first step")
    log_prob: float = Field(description="of all its tokens")
    likeliest: list[LikelyToken] = Field(description="next tokens, most probable first")


class EndedBeam(BaseModel):
    """A beam that became a finished hypothesis in this step."""

    beam: int = Field(description="its place among the beams of this step")
    text: str
    score: float = Field(description="length-normalised log-probability, as a search ranks by")
    capped: bool = Field(description="it was cut at the token limit")


class ShownStep(BaseModel):
    """A step: which beams were alive, and which ended. The next step has those that lived on."""

    beams: list[LiveBeam]
    ended: list[EndedBeam]


class ShownSearch(BaseModel):
    """A search as it went."""

    rule: Literal["attend", "transformers", "marian"] = Field(
        description="whose rule of search the checkpoint is searched by"
    )
    beam_size: int
    length_penalty: float
    max_target_tokens: int = Field(description="the limit of this sentence")
    steps: list[ShownStep]


class AttentionColumn(BaseModel):
    """A token that is looked at, and what becomes of it in equation 1."""

    piece: str
    key: list[float]
    value: list[float]
    product: float = Field(description="q·k")
    scaled: float = Field(description="q·k / √d_k")
    seen: bool = Field(description="false: the mask makes it −∞")
    weight: float = Field(description="after the softmax")


class ComputedAttention(BaseModel):
    """Scaled dot-product attention of one token in one head: output = Σ weight · value."""

    kind: AttentionKind
    layer: int
    head: int
    token: int
    piece: str
    d_k: int
    query: list[float]
    columns: list[AttentionColumn]
    output: list[float]


class PositionTable(BaseModel):
    """The first rows of the model's positional encoding, [positions, d_model]."""

    shape: tuple[int, int]
    dtype: Literal["float16"] = "float16"
    encoding: Literal["base64"] = "base64"
    weights: str = Field(description="little-endian, row-major")


class ExplainAnswer(BaseModel):
    """The answer of POST /explain."""

    model: str
    source: str
    target: str
    text: str = Field(description="the translation")
    score: float
    confidence: float
    segment: Segment = Field(description="its tokens and their places")
    search: ShownSearch
    attention: ComputedAttention | None = None
    positions: PositionTable | None = None
    usage: Usage
