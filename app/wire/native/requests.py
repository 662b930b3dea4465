"""The bodies of the native dialect's requests."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from app.errors import InvalidRequestError
from app.text.markup.document import MarkupOptions
from app.text.segmentation import Split
from app.translation.requests import (
    Generation,
    ScoringRequest,
    TranslationOptions,
    TranslationRequest,
)
from app.wire.native.fields import (
    MAX_BEAM_SIZE,
    AttentionChoice,
    BeamSize,
    GivenSource,
    GlossaryEntries,
    LengthPenalty,
    MaxTargetTokens,
    Source,
    Target,
    Terms,
    Text,
    Texts,
    WireRequest,
)
from model.decoding.processors import MAX_REPETITION_PENALTY, MAX_TEMPERATURE
from model.engine.explanations import AttentionKind, StackName

MAX_POSITIONS = 512
"""Maximum rows of the positional encoding in a response."""

Tags = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=100)], ...],
    Field(max_length=1000, strict=False, fail_fast=True),
]
"""Element names."""


def _split_sentences(value: Any) -> Any:
    if value is True or value is False or value == "nonewlines":
        return value
    raise PydanticCustomError("split_sentences", "Input should be a boolean or 'nonewlines'")


class TranslateRequest(WireRequest):
    """The body of POST /translate."""

    text: Texts
    source: Source = None
    target: Target = None
    beam_size: BeamSize = None
    alternatives: int = Field(
        0, ge=0, lt=MAX_BEAM_SIZE, description="Additional hypotheses; fewer than beam_size."
    )
    length_penalty: LengthPenalty = None
    max_target_tokens: MaxTargetTokens = None
    shortlist: bool | None = Field(
        None,
        description="Whether each sentence is searched among the words that may translate its "
        "own, if the model has a shortlist. Default: the checkpoint's.",
    )
    min_length: int | None = Field(
        None, ge=0, le=10_000,
        description="Tokens before a sentence may end. Default: the checkpoint's.",
    )  # fmt: skip
    no_repeat_ngram_size: int | None = Field(
        None, ge=0, le=100,
        description="A sequence of this many tokens occurs at most once; 0: no limit. "
        "Default: the checkpoint's.",
    )  # fmt: skip
    repetition_penalty: float | None = Field(
        None, gt=0, le=MAX_REPETITION_PENALTY, allow_inf_nan=False,
        description="Above 1, tokens that a sentence has are less probable: θ of Keskar et al. "
        "2019. Default: the checkpoint's.",
    )  # fmt: skip
    temperature: float = Field(
        0, ge=0, le=MAX_TEMPERATURE, allow_inf_nan=False,
        description="Above 0, each token is drawn from the 50 most probable ones, with "
        "probabilities p^(1 / temperature); beam_size is 1.",
    )  # fmt: skip
    seed: int = Field(
        0, ge=0, lt=2**63,
        description="Determines, with the sentence, what is drawn: the same seed gives the same "
        "translation.",
    )  # fmt: skip
    attention: AttentionChoice = None
    format: Literal["text", "html", "xml"] = Field(
        "text", description="With html and xml, tags are kept on the words they belong to."
    )
    ignore_tags: Tags = Field((), description="Elements whose content is not translated.")
    splitting_tags: Tags = Field((), description="Elements that divide the text.")
    non_splitting_tags: Tags = Field(
        (), description="Elements whose tags are part of the surrounding text."
    )
    outline_detection: bool = Field(
        True, description="false: only splitting_tags divide the text of XML."
    )
    split_sentences: Annotated[
        bool | Literal["nonewlines"],
        BeforeValidator(_split_sentences),
        Field(
            description="true: translate each sentence and line separately. nonewlines: treat line "
            "breaks as spaces. false: translate texts whole, if the model can read them at once."
        ),
    ] = True
    glossary: GlossaryEntries = Field({})
    do_not_translate: Terms = ()
    alignment: bool = Field(False, description="Link the words of source and translation.")
    stream: bool = Field(False, description="Answer as text/event-stream.")

    @classmethod
    def of(cls, text: object, source: str, target: str | None, **options: object) -> Self:
        """Return the equivalent of another dialect's request. Raises `InvalidRequestError`."""
        return cls.parse({"text": text, "source": source, "target": target, **options})

    def to_pipeline(self) -> TranslationRequest:
        """Return the request in the pipeline's terms; in markup, line breaks are spaces."""
        split: Split = "sentences" if self.split_sentences else "off"
        if self.split_sentences == "nonewlines" or (self.split_sentences and self.format != "text"):
            split = "nonewlines"
        return TranslationRequest(
            self.text,
            self.source,
            self.target,
            TranslationOptions(
                self.beam_size,
                self.length_penalty,
                self.alternatives,
                self.max_target_tokens,
                split,
                shortlist=self.shortlist,
                generation=Generation(
                    self.min_length,
                    self.no_repeat_ngram_size,
                    self.repetition_penalty,
                    self.temperature,
                    self.seed,
                ),
            ),
            self.glossary,
            self.do_not_translate,
            self.format,
            MarkupOptions(
                frozenset(self.ignore_tags),
                frozenset(self.splitting_tags),
                frozenset(self.non_splitting_tags),
                self.outline_detection,
            ),
            self.attention.selection() if self.attention else None,
            self.alignment,
        )


class DetectRequest(WireRequest):
    """The body of POST /detect."""

    text: Texts


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
        request = super().parse(values)
        if len(request.text) != len(request.translation):
            detail = f"List should have as many items as text, {len(request.text)}"
            raise InvalidRequestError.at("/translation", detail)
        return request

    def to_pipeline(self) -> ScoringRequest:
        return ScoringRequest(
            self.text,
            self.translation,
            self.source,
            self.target,
            self.length_penalty,
            self.attention.selection() if self.attention else None,
            self.alignment,
        )


class ExaminedAttention(WireRequest):
    """Selects the row of attention to show in numbers; all indices count from 0."""

    kind: AttentionKind = "cross"
    layer: int | None = Field(None, ge=0, description="Default: the last.")
    head: int = Field(0, ge=0)
    token: int = Field(
        0, ge=0, description="Position of the query: in the target, or in the source for encoder."
    )


class ExaminedLayer(WireRequest):
    """Selects the position and the layer whose vectors to show; all indices count from 0."""

    stack: StackName = "encoder"
    layer: int | None = Field(None, ge=0, description="Default: the last.")
    token: int = Field(
        0, ge=0, description="Position in the source, or, for decoder, of the token it predicts."
    )


_SHOWN_PARTS = {"attention", "activations", "positions"}


class ExplainRequest(WireRequest):
    """The body of POST /explain: one sentence, searched as POST /translate does."""

    text: Text
    source: Source = None
    target: Target = None
    beam_size: BeamSize = None
    alternatives: int = Field(
        0, ge=0, lt=MAX_BEAM_SIZE, description="When the search stops, as in POST /translate."
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
    activations: ExaminedLayer | None = Field(
        None, description="A position to follow through the embedding and one layer."
    )
    positions: int = Field(
        0, ge=0, le=MAX_POSITIONS, description="Rows of the positional encoding to return."
    )

    def to_pipeline(self) -> TranslationRequest:
        """Return the request of the same search by POST /translate."""
        shared = {name: getattr(self, name) for name in self.model_fields_set - _SHOWN_PARTS}
        return TranslateRequest(**shared | {"text": [self.text]}).to_pipeline()
