"""Google's dialects on the wire: Cloud Translation, version 2, and that of browser extensions.

Facts: https://cloud.google.com/translate/docs/reference/rest/v2 for /language/translate/v2. The
routes under /translate_a are not documented; fields are those that extensions send and read.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from app.languages.detection import DetectedLanguage
from app.languages.served import AUTO, is_auto
from app.translation.answers import TranslateAnswer, Translation
from app.wire.dialects.libretranslate import UNDETECTED
from app.wire.native.fields import MAX_LANGUAGE_CODE, LanguageCode, LenientRequest, Texts
from app.wire.native.requests import TranslateRequest


class GoogleDetectRequest(LenientRequest):
    """The parameters of /language/translate/v2/detect, as JSON, a form or the query string."""

    q: Texts


class GoogleRequest(GoogleDetectRequest):
    """The parameters of /language/translate/v2. `model` and unknown fields are ignored."""

    target: LanguageCode = Field(description="BCP-47 code.")
    source: str | None = Field(None, max_length=MAX_LANGUAGE_CODE, description="Else detected.")
    format: Literal["html", "text"] = "html"

    def native(self) -> TranslateRequest:
        source = self.source or AUTO
        return TranslateRequest.of(self.q, source, self.target, format=self.format)


class GoogleLanguagesRequest(LenientRequest):
    """The parameters of /language/translate/v2/languages."""

    target: str | None = Field(
        None, max_length=MAX_LANGUAGE_CODE, description="Language of the names; else no names."
    )


class GoogleTranslation(BaseModel):
    """One text's translation."""

    translatedText: str  # noqa: N815  (the name on the wire)
    detectedSourceLanguage: str | None = Field(None, description="without source")  # noqa: N815


class GoogleTranslations(BaseModel):
    """The translations, in the order of the texts."""

    translations: list[GoogleTranslation]


class GoogleAnswer(BaseModel):
    """The response of /language/translate/v2."""

    data: GoogleTranslations

    @classmethod
    def of(cls, request: GoogleRequest, answer: TranslateAnswer) -> Self:
        def one(translation: Translation) -> GoogleTranslation:
            detected = None if request.source else translation.source
            return GoogleTranslation(
                translatedText=translation.text, detectedSourceLanguage=detected
            )

        return cls(data=GoogleTranslations(translations=list(map(one, answer.translations))))


class GoogleDetection(BaseModel):
    """A language that a text may be in."""

    language: str
    confidence: float = Field(ge=0, le=1)
    isReliable: bool = Field(False, description="deprecated, always false")  # noqa: N815


class GoogleDetections(BaseModel):
    """The languages of each text, the most probable one of each."""

    detections: list[list[GoogleDetection]]


class GoogleDetectAnswer(BaseModel):
    """The response of /language/translate/v2/detect."""

    data: GoogleDetections

    @classmethod
    def of(cls, found: Sequence[Sequence[DetectedLanguage]]) -> Self:
        def best(candidates: Sequence[DetectedLanguage]) -> GoogleDetection:
            if not candidates:
                return GoogleDetection(language=UNDETECTED, confidence=0)
            first = candidates[0]
            return GoogleDetection(language=first.language, confidence=first.confidence)

        return cls(data=GoogleDetections(detections=[[best(one)] for one in found]))


class GoogleLanguage(BaseModel):
    """A language that is translated from or to."""

    language: str
    name: str | None = Field(None, description="if target is given")


class GoogleLanguages(BaseModel):
    """The languages of the server."""

    languages: list[GoogleLanguage]


class GoogleLanguagesAnswer(BaseModel):
    """The response of /language/translate/v2/languages."""

    data: GoogleLanguages

    @classmethod
    def of(cls, languages: list[GoogleLanguage]) -> Self:
        return cls(data=GoogleLanguages(languages=languages))


class WebRequest(LenientRequest):
    """The parameters of /translate_a/single and /translate_a/t. Unknown ones are ignored."""

    q: Texts
    sl: str = Field(AUTO, max_length=MAX_LANGUAGE_CODE, description="Source; auto: detected.")
    tl: LanguageCode = Field(description="Target.")
    dj: str = Field("0", description="1: an object with names instead of lists.")

    def native(self) -> TranslateRequest:
        return TranslateRequest.of(self.q, self.sl, self.tl)

    def single(self, answer: TranslateAnswer) -> Any:
        """Return the response of /translate_a/single: the texts as if they were sentences."""
        source = answer.translations[0].source
        sentences = [
            {"trans": one.text, "orig": text}
            for text, one in zip(self.q, answer.translations, strict=True)
        ]
        if self.dj == "1":
            return {"sentences": sentences, "src": source}
        return [[[*one.values(), None, None, 1] for one in sentences], None, source]

    def texts(self, answer: TranslateAnswer) -> Any:
        """Return the response of /translate_a/t: the texts, with their language if detected."""
        if is_auto(self.sl):
            return [[one.text, one.source] for one in answer.translations]
        return [one.text for one in answer.translations]


class GoogleErrorBody(BaseModel):
    """The status and the reason of an error."""

    code: int
    message: str


class GoogleError(BaseModel):
    """Every error response of these dialects."""

    error: GoogleErrorBody
