"""POST /translate, native dialect."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.openapi import TRANSLATE_ANSWER_EXAMPLE, TRANSLATE_REQUEST_BODY, problem_answers
from app.routes.body import read_json
from app.routes.disconnect import while_connected
from app.routes.state import current_settings, ready_runtime
from app.runtime import Runtime
from app.schemas import TranslateAnswer
from app.settings import Settings
from app.timings import Timings
from app.translate_request import TranslateRequest

router = APIRouter(tags=["translation"])


@router.post(
    "/translate",
    response_model=TranslateAnswer,
    openapi_extra={"requestBody": TRANSLATE_REQUEST_BODY},
    responses={
        200: {"content": {"application/json": {"example": TRANSLATE_ANSWER_EXAMPLE}}},
        **problem_answers(404, 413, 415, 422, 429, 500, 503, 504),
    },
)
async def translate(
    request: Request,
    settings: Annotated[Settings, Depends(current_settings)],
    runtime: Annotated[Runtime, Depends(ready_runtime)],
) -> Response:
    """Translate one text or many."""
    wanted = TranslateRequest.parse(await read_json(request, settings.max_body_bytes))
    answer, timings = await while_connected(request, runtime.service.translate(wanted))
    return Response(
        answer.model_dump_json(exclude_none=True),
        media_type="application/json",
        headers={"Server-Timing": _server_timing(timings)},
    )


def _server_timing(timings: Timings) -> str:
    """Milliseconds a stage. An engine runs encoder and decoder as one; both count as decode."""
    stages = {
        "queue": timings.queue,
        "tokenize": timings.tokenize,
        "decode": timings.decode,
        "detokenize": timings.detokenize,
    }
    return ", ".join(f"{name};dur={1000 * seconds:.2f}" for name, seconds in stages.items())
