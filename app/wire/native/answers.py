"""What the native dialect answers, as it is on the wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, Field

from app.text.flags import Flag
from model.engine.protocol import AttentionKind


class Alternative(BaseModel):
    """A further hypothesis."""

    text: str
    score: float


class SourceToken(BaseModel):
    """A piece that the encoder read; code points start … end of the text as sent.

    The target-language symbol before and `</s>` behind have an empty span.
    """

    piece: str
    start: int
    end: int


class TargetToken(SourceToken):
    """A piece that the decoder produced; code points start … end of the text as answered."""

    log_prob: float


class AttentionWeights(BaseModel):
    """Weights [layers, heads, target tokens, source tokens]; every row sums to 1.

    For `encoder`, rows and columns are source tokens. For `decoder` they are target tokens, and
    column s is the position that was fed token s − 1.
    """

    kind: AttentionKind
    layers: list[int]
    heads: Literal["mean"] | list[int]
    shape: list[int]
    dtype: Literal["float16", "float32"]
    encoding: Literal["json", "base64"]
    weights: str | list[Any] = Field(
        description="base64: little-endian float16, row-major. json: nested lists, 4 decimals."
    )


class Segment(BaseModel):
    """A stretch translated on its own; words are code points, links pairs of words from 0."""

    source: tuple[int, int] = Field(description="code points of the text as sent")
    target: tuple[int, int] = Field(description="code points of the text as answered")
    source_tokens: list[SourceToken]
    target_tokens: list[TargetToken]
    source_words: list[tuple[int, int]] | None = None
    target_words: list[tuple[int, int]] | None = None
    alignment: list[tuple[int, int]] | None = None
    attention: AttentionWeights | None = None


class DetectedLanguage(BaseModel):
    """A language that a text may be in."""

    language: str = Field(description="BCP-47 code, one that is served if possible")
    confidence: float = Field(description="0 … 1; of a language served, among those")


class Translation(BaseModel):
    """One text's translation."""

    text: str
    source: str
    detected: DetectedLanguage | None = Field(
        None, description="for source auto: the source as it was found, if there was any to go by"
    )
    target: str
    pivot: str | None = Field(
        None, description="the language between, where two models translate one after the other"
    )
    score: float = Field(description="length-normalised log-probability that the search ranked by")
    confidence: float = Field(description="geometric mean of the token probabilities")
    flags: list[Flag]
    alternatives: list[Alternative]
    segments: list[Segment] | None = Field(None, description="for alignment or attention")


class Usage(BaseModel):
    """What the request took; tokens count control symbols, as the model does."""

    characters: int
    source_tokens: int
    target_tokens: int


class TranslateAnswer(BaseModel):
    """The answer of POST /translate."""

    model: str
    translations: list[Translation]
    usage: Usage


class TokenEvent(BaseModel):
    """Event `token` of a stream: more of a translation; one after the other they are all of it."""

    index: int = Field(description="of the text in the request")
    text: str


class SegmentEvent(BaseModel):
    """Event `segment` of a stream: a sentence is done, and its translation is told to its end."""

    index: int = Field(description="of the text in the request")
    source: tuple[int, int] = Field(description="code points of the text as sent")
    target: tuple[int, int] = Field(description="code points of the text as answered")
    score: float


News: TypeAlias = TokenEvent | SegmentEvent
PutEvent: TypeAlias = Callable[[News], None]
"""Takes what is to be told of a request's answer before it is there."""


class PairScore(BaseModel):
    """How probable one translation is."""

    source: str
    target: str
    score: float = Field(description="length-normalised log-probability, as a search ranks by")
    confidence: float = Field(description="geometric mean of the token probabilities")
    segments: list[Segment] = Field(description="one: a pair is not cut into sentences")


class ScoreAnswer(BaseModel):
    """The answer of POST /score."""

    model: str
    scores: list[PairScore]
    usage: Usage


class LanguageAnswer(BaseModel):
    """A source language of GET /languages, in LibreTranslate's form."""

    code: str
    name: str
    targets: list[str]


class ModelInfo(BaseModel):
    """One model of GET /info."""

    model: str
    directions: list[tuple[str, str]] = Field(description="source, target")
    config: dict[str, Any] = Field(description="hyperparameters, in the paper's names")
    parameters: int
    digest: str = Field(description="SHA-256 of the checkpoint: one digest, one set of answers")
    device: str
    precision: str
    threads: int


class Info(ModelInfo):
    """The answer of GET /info: the first model, then what there is beside it."""

    others: list[ModelInfo] = Field(description="the further models, in the order they were given")
    pivoted: list[tuple[str, str, str]] = Field(
        description="source, pivot, target of pairs that take two models, or one model twice"
    )
    version: str = Field(description="of attend")


class Health(BaseModel):
    """The answer of a probe that succeeds."""

    status: Literal["ok"] = "ok"
