"""Writes a large response beside the event loop, which would stand still for a second."""

from __future__ import annotations

from app.concurrency.abandonment import in_thread
from app.wire.native.answers import ScoreAnswer, TranslateAnswer

MAX_INLINE_TOKENS = 2000
"""Tokens of a response that is written at once; with attention, that takes some milliseconds."""


async def answer_json(answer: TranslateAnswer | ScoreAnswer) -> str:
    """Return a response as JSON, without the members that are not set."""

    def write() -> str:
        return answer.model_dump_json(exclude_none=True)

    n_tokens = answer.usage.source_tokens + answer.usage.target_tokens
    return write() if n_tokens <= MAX_INLINE_TOKENS else await in_thread(write)
