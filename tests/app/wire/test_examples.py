from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from app.explanation.answer import ExplainAnswer
from app.translation.answers import ScoreAnswer, TranslateAnswer
from app.wire import examples
from app.wire.dialects.deepl import DeepLRequest
from app.wire.dialects.deepl_glossaries import DeepLGlossaryRequest
from app.wire.dialects.libretranslate import (
    LibreTranslateAnswer,
    LibreTranslateDetectRequest,
    LibreTranslateRequest,
)
from app.wire.native.explain_request import ExplainRequest
from app.wire.native.request import DetectRequest
from app.wire.native.score_request import ScoreRequest
from app.wire.native.translate_request import TranslateRequest

TRANSLATE = examples.TRANSLATE_REQUEST_EXAMPLES
DETECT = examples.DETECT_REQUEST_EXAMPLES
ANSWERS = examples.TRANSLATE_ANSWER_EXAMPLES


@pytest.mark.parametrize(
    ("model", "example"),
    [
        *((TranslateRequest, TRANSLATE[name]["value"]) for name in ("one", "many", "attention")),
        (LibreTranslateRequest, TRANSLATE["libretranslate"]["value"]),
        (TranslateAnswer, ANSWERS["native"]["value"]),
        (LibreTranslateAnswer, ANSWERS["libretranslate"]["value"]),
        (DetectRequest, DETECT["many"]["value"]),
        (LibreTranslateDetectRequest, DETECT["libretranslate"]["value"]),
        (ScoreRequest, examples.SCORE_REQUEST_EXAMPLES["one"]["value"]),
        (ExplainRequest, examples.EXPLAIN_REQUEST_EXAMPLES["search"]["value"]),
        (ExplainRequest, examples.EXPLAIN_REQUEST_EXAMPLES["attention"]["value"]),
        (ExplainAnswer, examples.EXPLAIN_ANSWER_EXAMPLE),
        (ScoreAnswer, examples.SCORE_ANSWER_EXAMPLE),
        (DeepLRequest, examples.DEEPL_EXAMPLE),
        (DeepLGlossaryRequest, examples.DEEPL_GLOSSARY_EXAMPLE),
    ],
)
def test_examples_are_what_their_models_take(model: type, example: object) -> None:
    TypeAdapter(model).validate_python(example)
