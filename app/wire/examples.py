"""Example requests and responses in /openapi.json, in the shipped checkpoint's languages."""

from __future__ import annotations

from typing import Any

TRANSLATE_REQUEST_EXAMPLES: dict[str, Any] = {
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
    "libretranslate": {
        "summary": "In LibreTranslate's dialect",
        "value": {"q": "The weather is nice today.", "source": "en", "target": "fr"},
    },
}

TRANSLATE_ANSWER_EXAMPLES: dict[str, Any] = {
    "native": {
        "value": {
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
    },
    "libretranslate": {"value": {"translatedText": "Il fait beau aujourd'hui."}},
}

EVENT_EXAMPLE = 'event: token\ndata: {"index":0,"text":"Il fait "}\n\n'

DETECT_REQUEST_EXAMPLES: dict[str, Any] = {
    "many": {"summary": "Two texts", "value": {"text": ["Good morning!", "Bonjour !"]}},
    "libretranslate": {"summary": "In LibreTranslate's dialect", "value": {"q": "Bonjour !"}},
}

SCORE_REQUEST_EXAMPLES: dict[str, Any] = {
    "one": {
        "summary": "One pair",
        "value": {"text": "Thank you.", "translation": "Merci.", "target": "fr"},
    }
}

SCORE_ANSWER_EXAMPLE: dict[str, Any] = {
    "model": "en-fr",
    "scores": [
        {
            "source": "en",
            "target": "fr",
            "score": -0.21,
            "confidence": 0.92,
            "segments": [
                {
                    "source": [0, 10],
                    "target": [0, 6],
                    "source_tokens": [{"piece": "▁Thank", "start": 0, "end": 5}],
                    "target_tokens": [{"piece": "▁Merci", "start": 0, "end": 5, "log_prob": -0.02}],
                }
            ],
        }
    ],
    "usage": {"characters": 16, "source_tokens": 5, "target_tokens": 3},
}

EXPLAIN_REQUEST_EXAMPLES: dict[str, Any] = {
    "search": {
        "summary": "Every step of the search for a translation",
        "value": {"text": "Thank you.", "target": "fr"},
    },
    "attention": {
        "summary": "With what the first target token looks at, in numbers",
        "value": {
            "text": "Thank you.",
            "target": "fr",
            "attention": {"kind": "cross", "head": 0, "token": 0},
        },
    },
}

EXPLAIN_ANSWER_EXAMPLE: dict[str, Any] = {
    "model": "en-fr",
    "source": "en",
    "target": "fr",
    "text": "Merci.",
    "score": -0.21,
    "confidence": 0.92,
    "segment": SCORE_ANSWER_EXAMPLE["scores"][0]["segments"][0],
    "search": {
        "rule": "attend",
        "beam_size": 4,
        "length_penalty": 0.6,
        "max_target_tokens": 55,
        "steps": [
            {
                "beams": [
                    {
                        "parent": None,
                        "piece": None,
                        "log_prob": 0.0,
                        "likeliest": [{"piece": "▁Merci", "log_prob": -0.02, "probability": 0.98}],
                    }
                ],
                "ended": [],
            }
        ],
    },
    "attention": None,
    "positions": None,
    "usage": {"characters": 10, "source_tokens": 5, "target_tokens": 3},
}

DEEPL_EXAMPLE = {"text": ["The weather is nice today."], "target_lang": "FR", "source_lang": "EN"}
DEEPL_GLOSSARY_EXAMPLE = {
    "name": "Homes",
    "source_lang": "EN",
    "target_lang": "FR",
    "entries": "house\tdemeure",
    "entries_format": "tsv",
}

DEEPL_MULTILINGUAL_EXAMPLE: dict[str, Any] = {
    "name": "Homes",
    "dictionaries": [
        {"source_lang": "EN", "target_lang": "FR", "entries": "house\tdemeure"},
        {"source_lang": "FR", "target_lang": "EN", "entries": "demeure\thouse"},
    ],
}
