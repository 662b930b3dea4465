"""Responses of the native dialect as JSON, with the time that each stage took."""

from __future__ import annotations

from functools import partial

from fastapi import Response

from app.concurrency.abandonment import in_thread
from app.observe.timings import Timings
from app.translation.answers import ScoreAnswer, TranslateAnswer
from app.wire.native.answers import as_json

MAX_INLINE_TOKENS = 2000
"""Tokens of a response that is written in the event loop, which takes some milliseconds with
attention. A larger one would take up to a second."""


async def answer_json(answer: TranslateAnswer | ScoreAnswer) -> bytes:
    """Return a response as JSON, without the members that are not set."""
    n_tokens = answer.usage.source_tokens + answer.usage.target_tokens
    if n_tokens <= MAX_INLINE_TOKENS:
        return as_json(answer)
    return await in_thread(partial(as_json, answer))


async def timed_response(answer: TranslateAnswer | ScoreAnswer, timings: Timings) -> Response:
    """Return a response with the header Server-Timing: milliseconds per stage.

    An engine runs encoder and decoder as one; both count as decode.
    """
    timing = (
        f"queue;dur={1000 * timings.queue:.2f}, tokenize;dur={1000 * timings.tokenize:.2f}, "
        f"decode;dur={1000 * timings.decode:.2f}, detokenize;dur={1000 * timings.detokenize:.2f}"
    )
    body = await answer_json(answer)
    return Response(body, media_type="application/json", headers={"Server-Timing": timing})
