"""The responses of the native dialect on the wire; those of the pipeline are written as JSON."""

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, Field, TypeAdapter

from app.translation.answers import ScoreAnswer, SegmentEvent, TokenEvent, TranslateAnswer

Written: TypeAlias = TranslateAnswer | ScoreAnswer | TokenEvent | SegmentEvent

_ADAPTERS: dict[type[Written], TypeAdapter[Any]] = {
    kind: TypeAdapter(kind) for kind in (TranslateAnswer, ScoreAnswer, TokenEvent, SegmentEvent)
}


def as_json(answer: Written) -> bytes:
    """Return an answer of the pipeline as JSON, without the members that are not set."""
    return _ADAPTERS[type(answer)].dump_json(answer, exclude_none=True)


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
        description="known: loaded when a request needs it; failed: loading failed, see the log"
    )
    pinned: bool = Field(description="never evicted")
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


class Status(BaseModel):
    """The response of GET /status, which the page polls."""

    requests: int = Field(description="admitted and not yet answered")
    tokens_generated: int = Field(description="target tokens since the start")
