"""What /openapi.json says beyond what FastAPI reads off the routes."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from app.detect_request import DetectRequest
from app.problems import MEDIA_TYPE, Problem
from app.translate_request import AttentionRequest, TranslateRequest

_REF = "#/components/schemas/{model}"

TRANSLATE_REQUEST_EXAMPLES = {
    "one": {
        "summary": "One text",
        "value": {"text": "The weather is nice today.", "source": "en", "target": "fr"},
    },
    "many": {
        "summary": "Several texts, each with a second hypothesis",
        "value": {
            "text": ["Good morning!", "How are you?"],
            "target": "fr",
            "beam_size": 4,
            "alternatives": 1,
        },
    },
    "attention": {
        "summary": "With every head of the last layer's cross-attention",
        "value": {"text": "Thank you.", "target": "fr", "attention": {"heads": "all"}},
    },
}

TRANSLATE_REQUEST_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"$ref": _REF.format(model=TranslateRequest.__name__)},
            "examples": TRANSLATE_REQUEST_EXAMPLES,
        }
    },
}

DETECT_REQUEST_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"$ref": _REF.format(model=DetectRequest.__name__)},
            "examples": {
                "many": {"summary": "Two texts", "value": {"text": ["Good morning!", "Bonjour !"]}}
            },
        }
    },
}

TRANSLATE_ANSWER_EXAMPLE: dict[str, Any] = {
    "model": "en-fr",
    "translations": [
        {
            "text": "Il fait beau aujourd'hui.",
            "source": "en",
            "target": "fr",
            "score": -0.41,
            "confidence": 0.87,
            "flags": [],
            "alternatives": [],
        }
    ],
    "usage": {"characters": 26, "source_tokens": 8, "target_tokens": 9},
}


def problem_answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Problem documents as answers of a route, for FastAPI's `responses`."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model=Problem.__name__)}}},
        }
        for status in statuses
    }


def describe(app: FastAPI) -> dict[str, Any]:
    """The document: FastAPI's, with the schemas of what the routes read and answer themselves."""
    document = get_openapi(
        title=app.title, version=app.version, summary=app.summary, routes=app.routes
    )
    _, definitions = models_json_schema(
        [
            (TranslateRequest, "validation"),
            (AttentionRequest, "validation"),
            (DetectRequest, "validation"),
            (Problem, "serialization"),
        ],
        ref_template=_REF,
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas |= definitions["$defs"]
    return document
