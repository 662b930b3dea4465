"""Writes a large response beside the event loop, which would stand still for a second."""

from __future__ import annotations

from functools import partial

from app.concurrency.abandonment import in_thread
from app.translation.answers import ScoreAnswer, TranslateAnswer
from app.wire.native.answers import as_json

MAX_INLINE_TOKENS = 2000
"""Tokens of a response that is written at once; with attention, that takes some milliseconds."""


async def answer_json(answer: TranslateAnswer | ScoreAnswer) -> bytes:
    """Return a response as JSON, without the members that are not set."""
    n_tokens = answer.usage.source_tokens + answer.usage.target_tokens
    if n_tokens <= MAX_INLINE_TOKENS:
        return as_json(answer)
    return await in_thread(partial(as_json, answer))
