"""The dialects that browser extensions have for a server of one's own, and DeepLX's.

/imme    Immersive Translate: https://immersivetranslate.com/en/docs/services/custom/
/kiss    Kiss Translator: https://github.com/fishjar/kiss-translator, custom-api_v2.md
/hcfy    Hua Ci Fan Yi, which names languages in Chinese
/deeplx  DeepLX: https://github.com/OwO-Network/DeepLX
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field

from app.errors import InvalidRequestError
from app.languages.served import AUTO, fits
from app.translation.answers import TranslateAnswer
from app.wire.native.fields import MAX_LANGUAGE_CODE, LanguageCode, LenientRequest, Text, Texts
from app.wire.native.requests import TranslateRequest

_MARKUP = re.compile(r"<(?:[abix]|span)(?: i=)?\d+>|&(?:amp|lt|gt|nbsp);")
"""What stands for the tags of a page, `<b0>` or `<a i=1>`, and what Kiss Translator escapes."""


def _format(texts: Iterable[str]) -> str:
    return "html" if any(map(_MARKUP.search, texts)) else "text"


class ImmersiveRequest(LenientRequest):
    """The body of POST /imme."""

    source_lang: str = Field(AUTO, max_length=MAX_LANGUAGE_CODE)
    target_lang: LanguageCode
    text_list: Texts

    def native(self) -> TranslateRequest:
        source, markup = self.source_lang or AUTO, _format(self.text_list)
        return TranslateRequest.of(self.text_list, source, self.target_lang, format=markup)

    def answer(self, answer: TranslateAnswer) -> Any:
        return {
            "translations": [
                {"detected_source_lang": one.source, "text": one.text}
                for one in answer.translations
            ]
        }


class KissRequest(LenientRequest):
    """The body of POST /kiss: one text, or several."""

    text: Text | None = None
    texts: Texts | None = None
    source: str = Field(AUTO, max_length=MAX_LANGUAGE_CODE, alias="from")
    target: LanguageCode = Field(alias="to")

    def native(self) -> TranslateRequest:
        given = self.text if self.texts is None else self.texts
        if given is None:
            raise InvalidRequestError.at("/text", "Field required")
        markup = _format([given] if isinstance(given, str) else given)
        return TranslateRequest.of(given, self.source or AUTO, self.target, format=markup)

    def answer(self, answer: TranslateAnswer) -> Any:
        texts = [{"text": one.text, "src": one.source} for one in answer.translations]
        return texts if self.texts is not None else texts[0]


class HcfyRequest(LenientRequest):
    """The body of POST /hcfy, with Chinese names of languages."""

    text: Text
    source: str | None = None
    destination: list[str] = Field(
        min_length=1,
        fail_fast=True,
        description="Targets; the first that is not the language of the text is used.",
    )

    def native(self, codes: Mapping[str, str], detected: str | None) -> TranslateRequest:
        """Return the equivalent native request. Raises `InvalidRequestError`.

        codes     by name
        detected  the language of the text, without `source`
        """
        source = detected
        if self.source:
            source = _code(self.source, codes, "/source")
        targets = [_code(name, codes, "/destination") for name in self.destination]
        others = [one for one in targets if not source or not fits(one, source)]
        target = (others or targets)[0]
        return TranslateRequest.of(self.text, source or AUTO, target)

    def answer(self, answer: TranslateAnswer, names: Mapping[str, str]) -> Any:
        translation = answer.translations[0]
        source, target = translation.source, translation.target
        return {
            "text": self.text,
            "from": names.get(source, source),
            "to": names.get(target, target),
            "result": translation.text.split("\n"),
        }


_SCRIPTS = {"中文(简体)": "zh-CN", "中文(繁体)": "zh-TW", "中文(繁體)": "zh-TW"}
"""Names of Hua Ci Fan Yi that CLDR does not have."""


def chinese_names(codes: Iterable[str]) -> dict[str, str]:
    """Return the Chinese names of languages by code, from the CLDR."""
    from babel import Locale  # takes 50 ms

    known = Locale("zh").languages
    return {code: known.get(code.replace("-", "_"), code) for code in codes}


def _code(name: str, codes: Mapping[str, str], pointer: str) -> str:
    code = _SCRIPTS.get(name) or codes.get(name)
    if code is None:
        raise InvalidRequestError.at(pointer, "Expected Chinese names of served languages")
    return code


class DeepLXRequest(LenientRequest):
    """The body of POST /deeplx."""

    text: Text
    source_lang: str = Field(AUTO, max_length=MAX_LANGUAGE_CODE)
    target_lang: LanguageCode
    tag_handling: Literal["", "html", "xml"] = ""

    def native(self) -> TranslateRequest:
        source, markup = self.source_lang or AUTO, self.tag_handling or "text"
        return TranslateRequest.of(self.text, source, self.target_lang, format=markup)

    def answer(self, answer: TranslateAnswer) -> Any:
        translation = answer.translations[0]
        return {
            "code": 200,
            "id": 0,
            "data": translation.text,
            "alternatives": [other.text for other in translation.alternatives],
            "source_lang": translation.source.upper(),
            "target_lang": translation.target.upper(),
            "method": "Free",
        }


class ExtensionError(BaseModel):
    """Every error response of these dialects; `code` is the status."""

    code: int
    message: str
