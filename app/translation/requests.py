"""Requests to the pipeline, in plain types; `app.wire` converts the dialects to these."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from app.errors import InvalidRequestError, TextTooLongError
from app.text.glossary import NO_GLOSSARY, Glossary
from app.text.markup.document import MarkupOptions
from app.text.segmentation import Split
from model.decoding.processors import LogitsProcessors
from model.engine.explanations import AttentionKind


@dataclass(frozen=True, slots=True)
class AttentionSelection:
    """The attention weights to return; layers and heads are indices, or a word."""

    kind: AttentionKind = "cross"
    layers: Literal["last", "all"] | list[int] = "last"
    heads: Literal["mean", "all"] | list[int] = "mean"
    encoding: Literal["json", "base64"] = "json"


@dataclass(frozen=True, slots=True)
class Generation:
    """How tokens are chosen, in the words of `LogitsProcessors`; the checkpoint sets omitted ones.

    temperature  0: the most probable; else tokens are drawn, by `seed`
    """

    min_length: int | None = None
    no_repeat_ngram_size: int | None = None
    repetition_penalty: float | None = None
    temperature: float = 0.0
    seed: int = 0

    def processors(self, default: LogitsProcessors) -> LogitsProcessors:
        """Return a checkpoint's processors with those that are given here."""
        names = ("min_length", "no_repeat_ngram_size", "repetition_penalty")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        return replace(default, **given) if given else default


@dataclass(frozen=True, slots=True)
class TranslationOptions:
    """How to translate; the checkpoint sets omitted options.

    with_tokens  whether the spans of tokens are needed
    shortlist    whether each sentence is searched among its candidates, if the model has a list
    """

    beam_size: int | None = None
    length_penalty: float | None = None
    alternatives: int = 0
    max_target_tokens: int | None = None
    split: Split = "sentences"
    glossary: Glossary = NO_GLOSSARY
    with_tokens: bool = False
    shortlist: bool | None = None
    generation: Generation = Generation()


@dataclass(frozen=True, slots=True)
class TranslationRequest:
    """Texts to translate; `untranslated` are terms that stay as they are.

    search  how; `options` adds the glossary
    """

    texts: Sequence[str]
    source: str | None = None
    target: str | None = None
    search: TranslationOptions = TranslationOptions()
    glossary: Mapping[str, str] = field(default_factory=dict)
    untranslated: Iterable[str] = ()
    format: Literal["text", "html", "xml"] = "text"
    markup: MarkupOptions = field(default_factory=MarkupOptions)
    attention: AttentionSelection | None = None
    alignment: bool = False

    @property
    def is_explained(self) -> bool:
        """Whether the answer has segments with tokens."""
        return self.alignment or self.attention is not None

    @property
    def n_term_characters(self) -> int:
        """Characters of the glossary's terms, for which `options` takes 3 µs each."""
        return sum(map(len, chain(*self.glossary.items(), self.untranslated)))

    def options(self) -> TranslationOptions:
        """Return how to translate the texts, with their glossary."""
        has_terms = self.glossary or self.untranslated
        return replace(
            self.search,
            glossary=Glossary(self.glossary, self.untranslated) if has_terms else NO_GLOSSARY,
            with_tokens=self.is_explained,
        )


@dataclass(frozen=True, slots=True)
class ScoringRequest:
    """Texts and a given translation of each."""

    texts: Sequence[str]
    translations: Sequence[str]
    source: str | None = None
    target: str | None = None
    length_penalty: float | None = None
    attention: AttentionSelection | None = None
    alignment: bool = False


@dataclass(frozen=True)
class Limits:
    """Limits of one request; `timeout` in seconds."""

    max_texts: int
    max_text_characters: int
    timeout: float

    def check_texts(self, texts: Sequence[str], field: str = "text") -> None:
        """Raise `InvalidRequestError` for too many texts, `TextTooLongError` for one too long."""
        if len(texts) > self.max_texts:
            detail = f"List should have at most {self.max_texts} items"
            raise InvalidRequestError.at(f"/{field}", detail)
        if max(map(len, texts)) > self.max_text_characters:
            raise TextTooLongError(
                f"a text may have at most {self.max_text_characters:,} characters"
            )
