"""The responses of the native dialect on the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Protocol, TypeAlias

from pydantic import BaseModel, Field, PlainSerializer, WithJsonSchema
from pydantic.dataclasses import dataclass

from app.text.flags import Flag
from app.wire.native.nested_numbers import NestedNumbers, written
from model.engine.explanations import AttentionKind


class Alternative(BaseModel):
    """A further hypothesis."""

    text: str
    score: float


@dataclass(slots=True)  # a model takes thrice the memory, and a text may have 100,000 tokens
class SourceToken:
    """A token read by the encoder; start and end are code points of the text as sent.

    The target-language symbol at the start and `</s>` at the end have an empty span.
    """

    piece: str
    start: int
    end: int


@dataclass(slots=True)
class TargetToken(SourceToken):
    """A token produced by the decoder; start and end are code points of the text as returned."""

    log_prob: float


class AttentionWeights(BaseModel):
    """Weights [layers, heads, target tokens, source tokens]; each row sums to 1.

    For `encoder`, rows and columns are source tokens. For `decoder`, they are target tokens, and
    column s is the position whose input was token s − 1.
    """

    kind: AttentionKind
    layers: list[int]
    heads: Literal["mean"] | list[int]
    shape: list[int]
    dtype: Literal["float16", "float32"]
    encoding: Literal["json", "base64"]
    weights: Annotated[
        str | NestedNumbers,
        PlainSerializer(written, return_type=Any, when_used="json"),
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]}),
    ] = Field(
        description="base64: little-endian float16, row-major. json: nested lists, 4 decimals."
    )


class Segment(BaseModel):
    """A part translated separately; words are code point ranges, links pairs of word indices."""

    source: tuple[int, int] = Field(description="code points of the text as sent")
    target: tuple[int, int] = Field(description="code points of the text as returned")
    source_tokens: list[SourceToken]
    target_tokens: list[TargetToken]
    source_words: list[tuple[int, int]] | None = None
    target_words: list[tuple[int, int]] | None = None
    alignment: list[tuple[int, int]] | None = None
    attention: AttentionWeights | None = None


class DetectedLanguage(BaseModel):
    """A language that a text may be in."""

    language: str = Field(description="BCP-47 code, preferably of a served language")
    confidence: float = Field(description="0 … 1; for a served language, among the served ones")


class Translation(BaseModel):
    """One text's translation."""

    text: str
    source: str
    detected: DetectedLanguage | None = Field(
        None, description="with source auto: the detected source, if there was any evidence"
    )
    target: str
    pivot: str | None = Field(
        None, description="the intermediate language, if two models translate in sequence"
    )
    score: float = Field(description="length-normalised log-probability, by which the search ranks")
    confidence: float = Field(description="geometric mean of the token probabilities")
    flags: list[Flag]
    alternatives: list[Alternative]
    segments: list[Segment] | None = Field(None, description="with alignment or attention")


class Usage(BaseModel):
    """The request's usage; tokens include control symbols."""

    characters: int
    source_tokens: int
    target_tokens: int


class TranslateAnswer(BaseModel):
    """The response of POST /translate."""

    model: str
    translations: list[Translation]
    usage: Usage


class TokenEvent(BaseModel):
    """Event `token` of a stream: the next part of a translation."""

    index: int = Field(description="index of the text in the request")
    text: str


class SegmentEvent(BaseModel):
    """Event `segment` of a stream: a sentence is complete, and so are its `token` events."""

    index: int = Field(description="index of the text in the request")
    source: tuple[int, int] = Field(description="code points of the text as sent")
    target: tuple[int, int] = Field(description="code points of the text as returned")
    score: float


News: TypeAlias = TokenEvent | SegmentEvent


class Events(Protocol):
    """Receives parts of a response before it is complete."""

    def put(self, news: News) -> None:
        """Send the next part."""

    async def drain(self) -> None:
        """Wait until the client has read most of what was put."""


class PairScore(BaseModel):
    """How probable one translation is."""

    source: str
    target: str
    score: float = Field(description="length-normalised log-probability, by which the search ranks")
    confidence: float = Field(description="geometric mean of the token probabilities")
    segments: list[Segment] = Field(description="always one: pairs are not split into sentences")


class ScoreAnswer(BaseModel):
    """The response of POST /score."""

    model: str
    scores: list[PairScore]
    usage: Usage


class LanguageAnswer(BaseModel):
    """A source language of GET /languages, in LibreTranslate's form."""

    code: str
    name: str
    targets: list[str]


class AnyOf(BaseModel):
    """Directions in short: from any of the languages to any other."""

    any_of: list[str]


class ModelInfo(BaseModel):
    """One model of GET /info."""

    model: str
    directions: list[tuple[str, str]] | AnyOf = Field(
        description="source, target; of a model such as M2M-100 any two of a list"
    )
    config: dict[str, Any] = Field(description="hyperparameters, with the paper's names")
    parameters: int
    digest: str | None = Field(
        description="SHA-256 of the checkpoint: equal digests, equal translations; null before a "
        "model of the shelf is loaded for the first time"
    )
    engine: str = Field(
        description="cpu: attend's own kernels; torch: PyTorch, on other devices and in half "
        "precision"
    )
    device: str = Field(description="such as cpu or cuda:0; several with commas between")
    precision: str = Field(description="int8, float32, bfloat16 or float16")
    threads: int
    state: Literal["loaded", "loading", "known", "failed"] = Field(
        description="known: loaded when it is asked for; failed: could not be loaded, see the log"
    )
    pinned: bool = Field(description="never let go")
    memory_bytes: int = Field(description="memory that it holds now, 0 unless it is loaded")


class Info(ModelInfo):
    """The response of GET /info: the first model, then the others and the pairs by pivot."""

    others: list[ModelInfo] = Field(description="the other models, in the order of the setting")
    pivoted: list[tuple[str, str, str]] = Field(
        description="source, pivot, target of pairs translated by two models, or by one model twice"
    )
    version: str = Field(description="of attend")


class Health(BaseModel):
    """The response of a successful probe."""

    status: Literal["ok"] = "ok"
