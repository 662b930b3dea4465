"""The native dialect's body of POST /translate."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from app.text.glossary import NO_GLOSSARY, Glossary
from app.text.segmentation import Split
from app.wire.native.request import Texts, WireRequest, without_surrogates
from model.decoding.hypothesis import MAX_LENGTH_PENALTY
from model.engine.protocol import AttentionKind

MAX_BEAM_SIZE = 8
MAX_LANGUAGE_CODE = 35
"""Characters; RFC 5646 §4.4.1 recommends allowing for this many."""

MAX_TERM = 1024
"""Maximum characters of a term."""


def _choice(*words: str) -> BeforeValidator:
    """Validate one of the words, or a list of indices from 0."""

    def check(value: Any) -> Any:
        if value in words if isinstance(value, str) else _are_indices(value):
            return value
        names = " or ".join(f"'{word}'" for word in words)
        raise PydanticCustomError("choice", f"Input should be {names} or a list of indices ≥ 0")

    return BeforeValidator(check)


def _are_indices(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(type(index) is int and index >= 0 for index in value)
        and len(set(value)) == len(value)
    )


class AttentionRequest(BaseModel):
    """Selects the attention weights to return."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: AttentionKind = "cross"
    layers: Annotated[Literal["last", "all"] | list[int], _choice("last", "all")] = "last"
    heads: Annotated[Literal["mean", "all"] | list[int], _choice("mean", "all")] = "mean"
    encoding: Literal["json", "base64"] = "json"


def _attention(value: Any) -> Any:
    """Read `true` as the default selection and `false` as none."""
    if value is False:
        return None
    if value is True:
        return {}
    if value is None or not isinstance(value, dict | AttentionRequest):
        raise PydanticCustomError("attention", "Input should be a boolean or an object")
    return value


AttentionChoice = Annotated[
    AttentionRequest | None,
    BeforeValidator(_attention),
    WithJsonSchema(
        {
            "anyOf": [{"type": "boolean"}, {"$ref": "#/components/schemas/AttentionRequest"}],
            "default": False,
            "description": "true: cross-attention of the last layer, mean over its heads.",
        }
    ),
]


Tags = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=100)], ...],
    Field(max_length=1000, strict=False),
]
"""Element names."""


def _term(value: Any) -> str:
    """Strip whitespace; lone surrogates become U+FFFD, as in texts."""
    if isinstance(value, str) and 1 <= len(term := value.strip()) <= MAX_TERM:
        return without_surrogates(term)
    raise PydanticCustomError("term", f"A term should have 1 to {MAX_TERM} characters")


def _entries(value: Any) -> dict[str, str]:
    """Validate as a whole, since an error's location would quote a term."""
    if not isinstance(value, dict):
        raise PydanticCustomError("glossary", "Input should be an object")
    return {_term(source): _term(target) for source, target in value.items()}


_TERM = Field(min_length=1, max_length=MAX_TERM)
Terms = Annotated[tuple[Annotated[str, BeforeValidator(_term), _TERM], ...], Field(strict=False)]
GlossaryEntries = Annotated[
    dict[Annotated[str, _TERM], Annotated[str, _TERM]], BeforeValidator(_entries)
]


def _split_sentences(value: Any) -> Any:
    if value is True or value is False or value == "nonewlines":
        return value
    raise PydanticCustomError("split_sentences", "Input should be a boolean or 'nonewlines'")


class TranslateRequest(WireRequest):
    """The body of POST /translate."""

    text: Texts
    source: str | None = Field(
        None,
        max_length=MAX_LANGUAGE_CODE,
        description="BCP-47 code; auto: detected for each text; optional if the target implies it.",
    )
    target: str | None = Field(
        None,
        max_length=MAX_LANGUAGE_CODE,
        description="BCP-47 code; optional if the source implies it.",
    )
    beam_size: int | None = Field(
        None, ge=1, le=MAX_BEAM_SIZE, description="1 is greedy. Default: the checkpoint's."
    )
    alternatives: int = Field(
        0, ge=0, lt=MAX_BEAM_SIZE, description="Additional hypotheses; fewer than beam_size."
    )
    length_penalty: float | None = Field(
        None, ge=0, le=MAX_LENGTH_PENALTY, allow_inf_nan=False,
        description="α of Wu et al. 2016; 0 favours short translations. Default: the checkpoint's.",
    )  # fmt: skip
    max_target_tokens: int | None = Field(
        None, ge=1,
        description="Maximum target tokens, with the end of sentence. Default: source tokens + 50.",
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
    glossary: GlossaryEntries = Field({}, description="Source terms and their translations.")
    do_not_translate: Terms = Field((), description="Terms to leave untranslated.")
    alignment: bool = Field(False, description="Link the words of source and translation.")
    stream: bool = Field(False, description="Answer as text/event-stream.")

    @property
    def terms(self) -> Glossary:
        """Return the terms to translate in a given way or not at all."""
        if not self.glossary and not self.do_not_translate:
            return NO_GLOSSARY
        return Glossary(self.glossary, self.do_not_translate)

    @property
    def split(self) -> Split:
        """Return how to split the text; in markup, line breaks are treated as spaces."""
        if self.split_sentences == "nonewlines" or (self.split_sentences and self.format != "text"):
            return "nonewlines"
        return "sentences" if self.split_sentences else "off"
