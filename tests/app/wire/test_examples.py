import pytest
from pydantic import TypeAdapter

from app.explanation.answer import ExplainAnswer
from app.translation.answers import ScoreAnswer, TranslateAnswer
from app.wire.dialects.deepl import DeepLRequest
from app.wire.dialects.deepl_glossaries import DeepLGlossaryRequest
from app.wire.dialects.libretranslate import (
    LibreTranslateAnswer,
    LibreTranslateDetectRequest,
    LibreTranslateRequest,
)
from app.wire.native.requests import DetectRequest, ExplainRequest, ScoreRequest, TranslateRequest
from app.wire.openapi import EXAMPLES

TRANSLATE = EXAMPLES["translate_request"]
DETECT = EXAMPLES["detect_request"]
ANSWERS = EXAMPLES["translate_answer"]


@pytest.mark.parametrize(
    ("model", "example"),
    [
        *((TranslateRequest, TRANSLATE[name]["value"]) for name in ("one", "many", "attention")),
        (LibreTranslateRequest, TRANSLATE["libretranslate"]["value"]),
        (TranslateAnswer, ANSWERS["native"]["value"]),
        (LibreTranslateAnswer, ANSWERS["libretranslate"]["value"]),
        (DetectRequest, DETECT["many"]["value"]),
        (LibreTranslateDetectRequest, DETECT["libretranslate"]["value"]),
        (ScoreRequest, EXAMPLES["score_request"]["one"]["value"]),
        (ExplainRequest, EXAMPLES["explain_request"]["search"]["value"]),
        (ExplainRequest, EXAMPLES["explain_request"]["attention"]["value"]),
        (ExplainAnswer, EXAMPLES["explain_answer"]),
        (ScoreAnswer, EXAMPLES["score_answer"]),
        (DeepLRequest, EXAMPLES["deepl_request"]),
        (DeepLGlossaryRequest, EXAMPLES["deepl_glossary"]),
    ],
)
def test_examples_are_what_their_models_take(model: type, example: object) -> None:
    TypeAdapter(model).validate_python(example)
