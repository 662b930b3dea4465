"""POST /score: how probable a given translation is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.routes.handling.body import read_json
from app.routes.handling.dependencies import current_settings, ready_runtime
from app.routes.handling.disconnect import while_connected
from app.runtime import Runtime
from app.settings import Settings
from app.wire.examples import SCORE_ANSWER_EXAMPLE
from app.wire.native.answers import ScoreAnswer
from app.wire.native.score_request import ScoreRequest
from app.wire.openapi import SCORE_REQUEST_BODY, problem_answers

router = APIRouter(tags=["translation"])


@router.post(
    "/score",
    response_model=ScoreAnswer,
    openapi_extra={"requestBody": SCORE_REQUEST_BODY},
    responses={
        200: {"content": {"application/json": {"example": SCORE_ANSWER_EXAMPLE}}},
        **problem_answers(401, 403, 404, 413, 415, 422, 429, 500, 503, 504),
    },
)
async def score(
    request: Request,
    settings: Annotated[Settings, Depends(current_settings)],
    runtime: Annotated[Runtime, Depends(ready_runtime)],
) -> Response:
    """Score a given translation of one text or many."""
    wanted = ScoreRequest.parse(await read_json(request, settings.max_body_bytes))
    answer = await while_connected(request, runtime.service.score(wanted))
    return Response(answer.model_dump_json(exclude_none=True), media_type="application/json")
