"""DeepL's dialect on the wire: what its official client sends and reads."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from app.errors import InvalidRequestError
from app.languages.served import AUTO, Language, Languages, language_name
from app.translation.answers import TranslateAnswer, Translation
from app.wire.native.fields import MAX_LANGUAGE_CODE, LenientRequest, Texts
from app.wire.native.requests import TranslateRequest

UNLIMITED = 1_000_000_000_000
"""DeepL's value for no limit; its client does not accept null."""

IGNORED = "X-Ignored-Parameters"
MAX_TEXTS = 50
MAX_GLOSSARY_IDS = 5

_VARIANTS = {
    "en": {"EN-GB": "English (British)", "EN-US": "English (American)"},
    "pt": {"PT-BR": "Portuguese (Brazilian)", "PT-PT": "Portuguese (European)"},
}
"""Targets that clients name only by a variant."""

_BASES = {variant: base.upper() for base, names in _VARIANTS.items() for variant in names}


def _names(value: Any) -> Any:
    """Read names from a list, a comma-separated string, or a list of such strings."""
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise PydanticCustomError("names", "Input should be a list of names")
    return tuple(name.strip() for part in parts for name in part.split(",") if name.strip())


def _split(value: Any) -> Any:
    return str(int(value)) if isinstance(value, int) else value  # true and false included


def _formality(value: Any) -> Any:
    value = value.lower() if isinstance(value, str) else value
    if value in ("more", "less"):
        raise PydanticCustomError(
            "formality",
            "Target language has no formality; expected default, prefer_more or prefer_less",
        )
    return value


def _source(value: Any) -> Any:
    base = _BASES.get(value.upper()) if isinstance(value, str) else None
    if base:
        raise PydanticCustomError("source", f"{value.upper()} is only a target; expected {base}")
    return value


def _glossary_ids(value: Any) -> Any:
    ids = _names(value)
    if len(ids) > MAX_GLOSSARY_IDS:
        raise PydanticCustomError("too_long", "", {"max_length": MAX_GLOSSARY_IDS})
    return ids


def _refuse(_: Any) -> Any:
    raise PydanticCustomError("not_supported", "Not supported by this server")


Names = Annotated[tuple[str, ...], BeforeValidator(_names, json_schema_input_type=str | list[str])]
GlossaryId = Annotated[str, Field(max_length=100)]
Refused = SkipJsonSchema[Annotated[None, BeforeValidator(_refuse)]]


class TranslationOptions(LenientRequest):
    """What texts and documents have in common. Fields that DeepL does not have are ignored."""

    target_lang: str = Field(max_length=MAX_LANGUAGE_CODE, examples=["FR", "EN-US"])
    source_lang: Annotated[str | None, BeforeValidator(_source)] = Field(
        None, max_length=MAX_LANGUAGE_CODE, description="If omitted, detected."
    )
    formality: Annotated[
        Literal["default", "prefer_more", "prefer_less"], BeforeValidator(_formality)
    ] = Field("default", description="These values have no effect; more and less are rejected.")
    glossary_id: GlossaryId | None = Field(
        None, description="ID of a stored glossary; requires source_lang."
    )
    glossary_ids: Annotated[
        tuple[GlossaryId, ...],
        BeforeValidator(_glossary_ids, json_schema_input_type=str | list[str]),
    ] = Field(
        default_factory=tuple,
        description="IDs of up to 5; if several have a term, the first one's is used.",
    )
    enable_beta_languages: bool = Field(False, description="No effect.")
    style_id: Refused = None
    custom_instructions: Refused = None
    translation_memory_id: Refused = None
    translation_memory_threshold: Refused = None

    @classmethod
    def parse(cls, values: object) -> Self:
        """Parse untrusted data. Raises `InvalidRequestError`.

        A null counts as an omitted field, and so does an empty string except as a text.
        """
        if isinstance(values, dict):
            values = {
                name: value for name, value in values.items() if value != "" or name == "text"
            }
        return super().parse(values)

    context: str | None = Field(None, description="No effect.")

    @property
    def headers(self) -> dict[str, str]:
        """The header of the response that names options without effect, if there are any."""
        ignored = ["formality"] * (self.formality != "default") + ["context"] * bool(self.context)
        return {IGNORED: ", ".join(ignored)} if ignored else {}

    @property
    def glossaries(self) -> tuple[str, ...]:
        """Return the IDs of the glossaries to use. Raises `InvalidRequestError`."""
        if self.glossary_id is None and not self.glossary_ids:
            return ()
        if self.source_lang is None:
            raise InvalidRequestError.at("/source_lang", "Field required with a glossary")
        if self.glossary_id is None:
            return self.glossary_ids
        if self.glossary_ids:
            raise InvalidRequestError.at("/glossary_ids", "Not with glossary_id")
        return (self.glossary_id,)


ModelType = Literal["quality_optimized", "latency_optimized"]


class DeepLRequest(TranslationOptions):
    """The body of POST /v2/translate, as JSON or a form. Fields unknown to DeepL are ignored."""

    text: Annotated[Texts, Field(max_length=MAX_TEXTS)]
    split_sentences: Annotated[
        Literal["0", "1", "nonewlines"],
        BeforeValidator(_split, json_schema_input_type=Literal["0", "1", "nonewlines"]),
    ] = "1"
    preserve_formatting: bool = Field(
        False, description="No effect; formatting is always preserved."
    )
    tag_handling: Literal["xml", "html"] | None = None
    tag_handling_version: Literal["v1", "v2"] = Field(
        "v2", description="No effect: XML is always read strictly, as by v2."
    )
    outline_detection: bool = Field(
        True, description="false: only splitting_tags divide the text of XML."
    )
    ignore_tags: Names = Field(default_factory=tuple)
    splitting_tags: Names = Field(default_factory=tuple)
    non_splitting_tags: Names = Field(default_factory=tuple)
    model_type: (
        Literal["quality_optimized", "prefer_quality_optimized", "latency_optimized"] | None
    ) = Field(None, description="latency_optimized: greedy search; others: the model's beam.")
    show_billed_characters: bool = False

    @property
    def model_type_used(self) -> ModelType | None:
        if self.model_type in (None, "latency_optimized"):
            return self.model_type
        return "quality_optimized"

    def native(self, glossary: Mapping[str, str]) -> TranslateRequest:
        """Return the equivalent native request, with the entries of the glossaries.

        Raises `InvalidRequestError`.
        """
        native = TranslateRequest.of(
            self.text,
            self.source_lang or AUTO,
            self.target_lang,
            format=self.tag_handling or "text",
            beam_size=1 if self.model_type_used == "latency_optimized" else None,
            split_sentences={"0": False, "1": True}.get(self.split_sentences, "nonewlines"),
            outline_detection=self.outline_detection,
            ignore_tags=self.ignore_tags,
            splitting_tags=self.splitting_tags,
            non_splitting_tags=self.non_splitting_tags,
        )
        return native.model_copy(update={"glossary": dict(glossary)})


class DeepLTranslation(BaseModel):
    """One text's translation."""

    detected_source_language: str = Field(examples=["EN"])
    text: str
    billed_characters: int | None = Field(None, description="if requested")
    model_type_used: ModelType | None = Field(None, description="if model_type was given")


class DeepLAnswer(BaseModel):
    """The response of POST /v2/translate, in the order of the texts."""

    translations: list[DeepLTranslation]

    @classmethod
    def of(cls, request: DeepLRequest, answer: TranslateAnswer) -> Self:
        def one(text: str, translation: Translation) -> DeepLTranslation:
            return DeepLTranslation(
                detected_source_language=translation.source.upper(),
                text=translation.text,
                billed_characters=len(text) if request.show_billed_characters else None,
                model_type_used=request.model_type_used,
            )

        return cls(translations=list(map(one, request.text, answer.translations)))


class DeepLLanguage(BaseModel):
    """A language of /v2/languages."""

    language: str = Field(examples=["FR"])
    name: str
    supports_formality: bool | None = Field(None, description="targets only")


def target_languages(codes: Sequence[str]) -> list[DeepLLanguage]:
    """Return the values that `target_lang` may have, with the variants that the client requires."""
    return [
        DeepLLanguage(language=variant, name=name, supports_formality=False)
        for code in codes
        for variant, name in _VARIANTS.get(code, {code.upper(): language_name(code)}).items()
    ]


def source_languages(languages: Sequence[Language]) -> list[DeepLLanguage]:
    """Return the values that `source_lang` may have."""
    names = {_BASES.get(one.code.upper(), one.code.upper()): one.name for one in languages}
    return [DeepLLanguage(language=code, name=name) for code, name in names.items()]


Resource = Literal["translate_text", "translate_document", "glossary"]


class ResourceLanguage(BaseModel):
    """A language of /v3/languages; `features` has a member for each."""

    lang: str = Field(examples=["en-US"])
    name: str
    usable_as_source: bool
    usable_as_target: bool
    status: Literal["stable"] = "stable"
    features: dict[str, dict[str, str]]


class ResourceRequest(LenientRequest):
    """The parameters of /v3/languages."""

    resource: Resource

    def languages(self, served: Languages) -> list[ResourceLanguage]:
        """Return the languages of the resource; a variant is only a target."""
        features = {
            "translate_text": ["auto_detection", "glossary", "tag_handling"],
            "translate_document": ["auto_detection", "glossary"],
            "glossary": [],
        }[self.resource]
        names = {one.language: one.name for one in source_languages(served.sources)}
        sources = set(names)
        targets = {one.language: one.name for one in target_languages(served.targets)}
        return [
            ResourceLanguage(
                lang=_cased(code),
                name=name,
                usable_as_source=code in sources,
                usable_as_target=code in targets,
                features={name: {} for name in features},
            )
            for code, name in (names | targets).items()
        ]


def _cased(code: str) -> str:
    language, *subtags = code.split("-")
    return "-".join([language.lower(), *(t.capitalize() if len(t) == 4 else t for t in subtags)])


class LanguagesRequest(LenientRequest):
    """The parameters of /v2/languages."""

    type: Literal["source", "target"] = "source"


class DeepLUsage(BaseModel):
    """The response of /v2/usage: characters in this calendar month (UTC)."""

    character_count: int
    character_limit: int


class DeepLError(BaseModel):
    """Every error response of this dialect."""

    message: str
