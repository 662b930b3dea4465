"""The pipeline's answers, in plain types; `app.wire` writes them as JSON.

Field metadata and docstrings become descriptions in /openapi.json.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from app.languages.detection import DetectedLanguage
from app.text.flags import Flag
from app.translation.attention_view import AttentionWeights


def described(description: str) -> dict[str, str]:
    """Return the metadata of a field with a description."""
    return {"description": description}


@dataclass(slots=True)
class Alternative:
    """A further hypothesis."""

    text: str
    score: float


@dataclass(slots=True)
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


@dataclass(slots=True)
class Fault:
    """A place where the facts of a segment and of its translation differ; spans as of words."""

    flag: Flag
    source: Sequence[tuple[int, int]]
    target: Sequence[tuple[int, int]]


@dataclass(slots=True)
class Segment:
    """A part translated separately; words are code point ranges, links pairs of word indices."""

    source: tuple[int, int] = field(metadata=described("code points of the text as sent"))
    target: tuple[int, int] = field(metadata=described("code points of the text as returned"))
    source_tokens: list[SourceToken]
    target_tokens: list[TargetToken]
    source_words: list[tuple[int, int]] | None = None
    target_words: list[tuple[int, int]] | None = None
    alignment: list[tuple[int, int]] | None = None
    attention: AttentionWeights | None = None
    faults: list[Fault] | None = field(
        default=None, metadata=described("places of the flags numbers and facts, if there are any")
    )


@dataclass(slots=True, kw_only=True)
class Translation:
    """One text's translation."""

    text: str
    source: str
    detected: DetectedLanguage | None = field(
        default=None,
        metadata=described("the detected source, if it was not named and there was evidence"),
    )
    target: str
    pivot: str | None = field(
        default=None,
        metadata=described("the intermediate language, if two models translate in sequence"),
    )
    score: float = field(
        metadata=described("length-normalised log-probability, by which the search ranks")
    )
    confidence: float = field(metadata=described("geometric mean of the token probabilities"))
    flags: list[Flag]
    alternatives: list[Alternative]
    segments: list[Segment] | None = field(
        default=None, metadata=described("with alignment or attention")
    )


@dataclass(slots=True)
class Usage:
    """The request's usage; tokens include control symbols."""

    characters: int
    source_tokens: int
    target_tokens: int


@dataclass(slots=True)
class TranslateAnswer:
    """The response of POST /translate."""

    model: str
    translations: list[Translation]
    usage: Usage


@dataclass(frozen=True, slots=True)
class TokenEvent:
    """Event `token` of a stream: the next part of a translation."""

    index: int = field(metadata=described("index of the text in the request"))
    text: str


@dataclass(frozen=True, slots=True)
class SegmentEvent:
    """Event `segment` of a stream: a sentence is complete, and so are its `token` events."""

    index: int = field(metadata=described("index of the text in the request"))
    source: tuple[int, int] = field(metadata=described("code points of the text as sent"))
    target: tuple[int, int] = field(metadata=described("code points of the text as returned"))
    score: float


Event: TypeAlias = TokenEvent | SegmentEvent


class Events(Protocol):
    """Receives parts of a response before it is complete."""

    def put(self, event: Event) -> None:
        """Send the next part."""

    async def drain(self) -> None:
        """Wait until the client has read most of what was put."""


@dataclass(slots=True)
class PairScore:
    """How probable one translation is."""

    source: str
    target: str
    score: float = field(
        metadata=described("length-normalised log-probability, by which the search ranks")
    )
    confidence: float = field(metadata=described("geometric mean of the token probabilities"))
    segments: list[Segment] = field(
        metadata=described("always one: pairs are not split into sentences")
    )


@dataclass(slots=True)
class ScoreAnswer:
    """The response of POST /score."""

    model: str
    scores: list[PairScore]
    usage: Usage
