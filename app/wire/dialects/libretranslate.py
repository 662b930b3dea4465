"""LibreTranslate's dialect on the wire."""

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from app.errors import InvalidRequestError
from app.languages.detection import DetectedLanguage
from app.translation.answers import TranslateAnswer, Translation
from app.wire.native.fields import (
    MAX_BEAM_SIZE,
    MAX_LANGUAGE_CODE,
    TEXTS_SCHEMA,
    LenientRequest,
    read_texts,
)
from app.wire.native.requests import TranslateRequest

SPEC: dict[str, Any] = json.loads(
    Path(__file__).parents[1].joinpath("libretranslate.json").read_text("utf-8")
)
"""Paths and definitions of GET /spec, in Swagger 2.0."""

_FORMAT = re.compile(r"[\w+.-]{1,20}", re.ASCII)

_INTEGER = re.compile("-?[0-9]+")

BEAM_SIZE = 4
"""Minimum beam size of a request for alternatives."""


UNDETECTED = "en"
"""The language that LibreTranslate answers, with confidence 0, if it detects none."""


def _read_q(value: Any) -> str | list[str]:
    texts = read_texts(value)
    return texts[0] if isinstance(value, str) else texts


def _read_format(value: Any) -> Any:
    if value in ("text", "html"):
        return value
    if isinstance(value, str) and _FORMAT.fullmatch(value):
        raise PydanticCustomError("format", f"{value} format is not supported")
    raise PydanticCustomError("format", "format should be text or html")


def _read_alternatives(value: Any) -> Any:
    if isinstance(value, str) and not _INTEGER.fullmatch(value):  # int() reads "1_0" and "١" too
        raise PydanticCustomError("integer", "Input should be a valid integer")
    return value


Q = Annotated[str | list[str], BeforeValidator(_read_q), TEXTS_SCHEMA]


class _Request(LenientRequest):
    """`q`, and a key if one is required."""

    @classmethod
    def parse(cls, values: object) -> Self:
        """Parse untrusted data; as in LibreTranslate, an empty value counts as omitted.

        Raises `InvalidRequestError`.
        """
        if isinstance(values, dict):
            values = {name: value for name, value in values.items() if value not in ("", [])}
            if "q" not in values and "text" in values:  # a form: objects with text are native
                raise InvalidRequestError.at("/q", "A form has q; only a JSON object has text")
        return super().parse(values)

    q: Q
    api_key: str | None = Field(
        None, repr=False, description="If required; or in a header Authorization: Bearer."
    )


class LibreTranslateRequest(_Request):
    """The body of POST /translate with `q` for `text`, as JSON or a form, or the query string."""

    source: str = Field(max_length=MAX_LANGUAGE_CODE, description="BCP-47 code.")
    target: str = Field(max_length=MAX_LANGUAGE_CODE, description="BCP-47 code.")
    format: Annotated[
        Literal["text", "html"],
        BeforeValidator(_read_format, json_schema_input_type=Literal["text", "html"]),
    ] = "text"
    alternatives: Annotated[int, BeforeValidator(_read_alternatives)] = Field(
        0, ge=0, lt=MAX_BEAM_SIZE, description="Further hypotheses."
    )

    def native(self) -> TranslateRequest:
        beam_size = max(BEAM_SIZE, 1 + self.alternatives) if self.alternatives else None
        return TranslateRequest.of(
            self.q, self.source, self.target,
            format=self.format, alternatives=self.alternatives, beam_size=beam_size,
        )  # fmt: skip


class LibreTranslateDetectRequest(_Request):
    """The body of POST /detect with `q` for `text`, as JSON or a form, or the query string."""


class LibreTranslateDetected(BaseModel):
    """A language that a text may be in."""

    confidence: float = Field(ge=0, le=100)
    language: str

    @classmethod
    def of(cls, found: DetectedLanguage | None) -> Self:
        """Convert from a probability of 0 … 1; None: there was no evidence."""
        if found is None:
            return cls(confidence=0, language=UNDETECTED)
        return cls(confidence=round(100 * found.confidence, 2), language=found.language)


def merged(
    texts: Sequence[str], found: Sequence[Sequence[DetectedLanguage]]
) -> list[LibreTranslateDetected]:
    """Merge the languages of several texts to one list, best first, as LibreTranslate does.

    The confidence of a language is its mean over all characters.
    """
    shares: dict[str, float] = defaultdict(float)
    n_characters = sum(len(text) for text, any_found in zip(texts, found, strict=True) if any_found)
    for text, candidates in zip(texts, found, strict=True):
        for one in candidates:
            shares[one.language] += one.confidence * len(text) / n_characters
    return [
        LibreTranslateDetected.of(DetectedLanguage(language, shares[language]))
        for language in sorted(shares, key=shares.__getitem__, reverse=True)
    ] or [LibreTranslateDetected.of(None)]


class LibreTranslateAnswer(BaseModel):
    """The response of POST /translate to a request with `q`; a list for a list."""

    translatedText: str | list[str]  # noqa: N815  (the name on the wire)
    detectedLanguage: LibreTranslateDetected | list[LibreTranslateDetected] | None = Field(  # noqa: N815
        None, description="with source auto"
    )
    alternatives: list[str] | list[list[str]] | None = Field(None, description="if requested")

    @classmethod
    def of(cls, request: LibreTranslateRequest, answer: TranslateAnswer) -> Self:
        translations = answer.translations
        texts = [one.text for one in translations]
        is_auto = request.source.lower() == "auto"
        found = [LibreTranslateDetected.of(one.detected) for one in translations]
        others = [_others(one) for one in translations] if request.alternatives else None
        if isinstance(request.q, list):
            return cls(
                translatedText=texts,
                detectedLanguage=found if is_auto else None,
                alternatives=others,
            )
        return cls(
            translatedText=texts[0],
            detectedLanguage=found[0] if is_auto else None,
            alternatives=others[0] if others else None,
        )


def _others(translation: Translation) -> list[str]:
    """The texts of other hypotheses; as in LibreTranslate, each once and none empty."""
    texts = dict.fromkeys(other.text for other in translation.alternatives)
    return [text for text in texts if text not in ("", translation.text)]


class LibreTranslateError(BaseModel):
    """Every error response of this dialect."""

    error: str


class FrontendLanguage(BaseModel):
    """A language that a front end initially selects."""

    code: str
    name: str


class FrontendLanguages(BaseModel):
    """The languages that a front end initially selects."""

    source: FrontendLanguage
    target: FrontendLanguage


class FrontendSettings(BaseModel):
    """The response of GET /frontend/settings, with LibreTranslate's names."""

    apiKeys: bool = Field(description="whether the server has keys")  # noqa: N815
    charLimit: int = Field(description="maximum characters of a text")  # noqa: N815
    filesTranslation: bool  # noqa: N815
    frontendTimeout: int = Field(  # noqa: N815
        description="milliseconds without a keystroke before a request is sent"
    )
    keyRequired: bool = Field(description="whether a key is required")  # noqa: N815
    language: FrontendLanguages
    suggestions: bool
    supportedFilesFormat: list[str]  # noqa: N815
