"""The native dialect's body of POST /translate."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from app.text.markup.document import MarkupOptions
from app.text.segmentation import Split
from app.translation.requests import TranslationRequest
from app.wire.native.fields import (
    MAX_BEAM_SIZE,
    AttentionChoice,
    BeamSize,
    GlossaryEntries,
    LengthPenalty,
    MaxTargetTokens,
    Source,
    Target,
    Terms,
)
from app.wire.native.request import Texts, WireRequest

Tags = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=100)], ...],
    Field(max_length=1000, strict=False),
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

    def to_pipeline(self) -> TranslationRequest:
        """Return the request in the pipeline's terms; in markup, line breaks are spaces."""
        split: Split = "sentences" if self.split_sentences else "off"
        if self.split_sentences == "nonewlines" or (self.split_sentences and self.format != "text"):
            split = "nonewlines"
        return TranslationRequest(
            self.text,
            self.source,
            self.target,
            self.beam_size,
            self.length_penalty,
            self.alternatives,
            self.max_target_tokens,
            split,
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
