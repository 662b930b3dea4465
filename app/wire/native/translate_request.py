"""The native dialect's request, as it is on the wire."""

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
"""Characters that RFC 5646 §4.4.1 advises to allow for."""

MAX_TERM = 1024
"""Characters of a term."""


def _choice(*words: str) -> BeforeValidator:
    """One of the words, or a list of indices counted from 0."""

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
    """Which attention weights to answer with."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: AttentionKind = "cross"
    layers: Annotated[Literal["last", "all"] | list[int], _choice("last", "all")] = "last"
    heads: Annotated[Literal["mean", "all"] | list[int], _choice("mean", "all")] = "mean"
    encoding: Literal["json", "base64"] = "json"


def _attention(value: Any) -> Any:
    """`true` is the default selection, `false` none."""
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
"""Names of elements."""


def _term(value: Any) -> str:
    """Without white space around; a lone surrogate is read as in texts."""
    if isinstance(value, str) and 1 <= len(term := value.strip()) <= MAX_TERM:
        return without_surrogates(term)
    raise PydanticCustomError("term", f"A term should have 1 to {MAX_TERM} characters")


def _entries(value: Any) -> dict[str, str]:
    """Checked as a whole, since an error's place would quote a term."""
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
        description="BCP-47 code; auto: each text's own; left out: where the target leaves one "
        "choice, that.",
    )
    target: str | None = Field(
        None,
        max_length=MAX_LANGUAGE_CODE,
        description="BCP-47 code; may be left out where the source leaves one choice.",
    )
    beam_size: int | None = Field(
        None, ge=1, le=MAX_BEAM_SIZE, description="1 is greedy; the default is the checkpoint's."
    )
    alternatives: int = Field(
        0, ge=0, lt=MAX_BEAM_SIZE, description="Further hypotheses; less than beam_size."
    )
    length_penalty: float | None = Field(
        None, ge=0, le=MAX_LENGTH_PENALTY, allow_inf_nan=False,
        description="α of Wu et al. 2016; 0 favours short translations. Default: the checkpoint's.",
    )  # fmt: skip
    max_target_tokens: int | None = Field(
        None, ge=1,
        description="Most target tokens, the end of sentence counted. Default: source tokens + 50.",
    )  # fmt: skip
    attention: AttentionChoice = None
    format: Literal["text", "html", "xml"] = Field(
        "text", description="Of markup the tags are kept, on the words that they belong to."
    )
    ignore_tags: Tags = Field((), description="Elements of markup that are not translated.")
    splitting_tags: Tags = Field((), description="Elements of markup at which a text ends.")
    non_splitting_tags: Tags = Field(
        (), description="Elements of markup whose tags are part of the text around them."
    )
    outline_detection: bool = Field(
        True, description="false: in XML a text ends at the splitting_tags alone."
    )
    split_sentences: Annotated[
        bool | Literal["nonewlines"],
        BeforeValidator(_split_sentences),
        Field(
            description="true: each sentence and line on its own. nonewlines: a line break is but "
            "a blank. false: a text as one, unless the model cannot read it at once."
        ),
    ] = True
    glossary: GlossaryEntries = Field(
        {}, description="Terms of the source and what each is translated as."
    )
    do_not_translate: Terms = Field((), description="Terms that stay as they are.")
    alignment: bool = Field(False, description="Link the words of source and translation.")
    stream: bool = Field(False, description="Answer as text/event-stream.")

    @property
    def terms(self) -> Glossary:
        """What is to be translated in a given way, or not at all."""
        if not self.glossary and not self.do_not_translate:
            return NO_GLOSSARY
        return Glossary(self.glossary, self.do_not_translate)

    @property
    def split(self) -> Split:
        """Where a sentence to translate ends; in markup a line break is but a blank."""
        if self.split_sentences == "nonewlines" or (self.split_sentences and self.format != "text"):
            return "nonewlines"
        return "sentences" if self.split_sentences else "off"
