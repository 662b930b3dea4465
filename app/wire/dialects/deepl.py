"""DeepL's dialect as it is on the wire: what its official client sends and reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from app.text.languages import language_name
from app.wire.dialects.lenient_request import LenientRequest
from app.wire.native.answers import TranslateAnswer, Translation
from app.wire.native.request import Texts
from app.wire.native.translate_request import MAX_LANGUAGE_CODE, TranslateRequest

UNLIMITED = 1_000_000_000_000
"""What DeepL says where there is no limit; its client takes no null."""

_VARIANTS = {
    "en": {"EN-GB": "English (British)", "EN-US": "English (American)"},
    "pt": {"PT-BR": "Portuguese (Brazilian)", "PT-PT": "Portuguese (European)"},
}
"""Targets that clients name by a variant only."""


def _names(value: Any) -> Any:
    """Names in a list, or in a string with commas between, or both."""
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise PydanticCustomError("names", "Input should be a list of names")
    return tuple(name.strip() for part in parts for name in part.split(",") if name.strip())


def _split(value: Any) -> Any:
    return str(int(value)) if isinstance(value, int) else value  # a boolean is one


def _formality(value: Any) -> Any:
    if value in ("more", "less"):
        raise PydanticCustomError("formality", "No model here has any; prefer_more is not an error")
    return value


def _refuse(_: Any) -> Any:
    raise PydanticCustomError("not_supported", "Not supported by this server")


Names = Annotated[
    tuple[str, ...],
    BeforeValidator(_names, json_schema_input_type=str | list[str]),
]
Refused = SkipJsonSchema[Annotated[None, BeforeValidator(_refuse)]]


class DeepLRequest(LenientRequest):
    """The body of POST /v2/translate, as JSON or a form. Fields not known are ignored."""

    text: Texts
    target_lang: str = Field(max_length=MAX_LANGUAGE_CODE, examples=["FR", "EN-US"])
    source_lang: str | None = Field(
        None, max_length=MAX_LANGUAGE_CODE, description="Detected for every text if left out."
    )
    split_sentences: Annotated[
        Literal["0", "1", "nonewlines"],
        BeforeValidator(_split, json_schema_input_type=Literal["0", "1", "nonewlines"]),
    ] = "1"
    preserve_formatting: bool = Field(False, description="It always is.")
    tag_handling: Literal["xml", "html"] | None = None
    outline_detection: bool = Field(
        True, description="false: in XML a text ends at the splitting_tags alone."
    )
    ignore_tags: Names = ()
    splitting_tags: Names = ()
    non_splitting_tags: Names = ()
    formality: Annotated[
        Literal["default", "prefer_more", "prefer_less"],
        BeforeValidator(_formality),
    ] = Field("default", description="These change nothing; more and less are refused.")
    context: str | None = Field(None, description="Read by no model here.")
    show_billed_characters: bool = False
    glossary_id: str | None = Field(
        None, max_length=100, description="Of a stored glossary; needs source_lang."
    )
    glossary_ids: Refused = None
    style_id: Refused = None
    custom_instructions: Refused = None
    translation_memory_id: Refused = None

    @classmethod
    def parse(cls, values: object) -> Self:
        """From untrusted data. Raises `InvalidRequestError`.

        A null is a field left out, and so is an empty string but for a text.
        """
        if isinstance(values, dict):
            values = {
                name: value for name, value in values.items() if value != "" or name == "text"
            }
        return super().parse(values)

    def native(self) -> TranslateRequest:
        """What it asks for. Raises `InvalidRequestError`."""
        return TranslateRequest.parse(
            {
                "text": self.text,
                "source": self.source_lang or "auto",
                "target": self.target_lang,
                "format": self.tag_handling or "text",
                "split_sentences": {"0": False, "1": True}.get(self.split_sentences, "nonewlines"),
                "outline_detection": self.outline_detection,
                "ignore_tags": self.ignore_tags,
                "splitting_tags": self.splitting_tags,
                "non_splitting_tags": self.non_splitting_tags,
            }
        )


class DeepLTranslation(BaseModel):
    """One text's translation."""

    detected_source_language: str = Field(examples=["EN"])
    text: str
    billed_characters: int | None = Field(None, description="if asked for")


class DeepLAnswer(BaseModel):
    """The answer of POST /v2/translate, in the order of the texts."""

    translations: list[DeepLTranslation]

    @classmethod
    def of(cls, asked: DeepLRequest, answer: TranslateAnswer) -> DeepLAnswer:
        """The native answer in this dialect's form."""

        def one(text: str, translation: Translation) -> DeepLTranslation:
            return DeepLTranslation(
                detected_source_language=translation.source.upper(),
                text=translation.text,
                billed_characters=len(text) if asked.show_billed_characters else None,
            )

        return cls(translations=list(map(one, asked.text, answer.translations)))


class DeepLLanguage(BaseModel):
    """A language of /v2/languages."""

    language: str = Field(examples=["FR"])
    name: str
    supports_formality: bool | None = Field(None, description="of targets only")


def source_languages(codes: Sequence[str]) -> list[DeepLLanguage]:
    """What `source_lang` may be."""
    return [DeepLLanguage(language=code.upper(), name=language_name(code)) for code in codes]


def target_languages(codes: Sequence[str]) -> list[DeepLLanguage]:
    """What `target_lang` may be, with the variants that the official client insists on."""
    return [
        DeepLLanguage(language=variant, name=name, supports_formality=False)
        for code in codes
        for variant, name in _VARIANTS.get(code, {code.upper(): language_name(code)}).items()
    ]


class LanguagesRequest(LenientRequest):
    """What /v2/languages is asked for."""

    type: Literal["source", "target"] = "source"


class DeepLUsage(BaseModel):
    """The answer of /v2/usage: characters of this calendar month (UTC)."""

    character_count: int
    character_limit: int


class DeepLError(BaseModel):
    """Every answer of this dialect that is not a success."""

    message: str
