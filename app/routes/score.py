"""POST /score: the probability of a given translation."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.observe.tracing import record_stages
from app.routes.handling.answer_json import answer_json
from app.routes.handling.body import read_json
from app.routes.handling.charging import charged
from app.routes.handling.dependencies import CurrentSettings, KnownClient
from app.routes.handling.timeout import server_timing
from app.translation.answers import ScoreAnswer
from app.wire.examples import SCORE_ANSWER_EXAMPLE, SCORE_REQUEST_EXAMPLES
from app.wire.native.score_request import ScoreRequest
from app.wire.openapi import problem_answers, request_body

router = APIRouter(tags=["translation"])


@router.post(
    "/score",
    response_model=ScoreAnswer,
    openapi_extra=request_body(ScoreRequest, examples=SCORE_REQUEST_EXAMPLES),
    responses={
        200: {"content": {"application/json": {"example": SCORE_ANSWER_EXAMPLE}}},
        **problem_answers(401, 403, 404, 413, 415, 422, 429, 500, 503, 504),
    },
)
async def score(request: Request, client: KnownClient, settings: CurrentSettings) -> Response:
    """Score a given translation of one text or many; the characters of both are counted."""
    wanted = ScoreRequest.parse(await read_json(request, settings.max_body_bytes))
    answer, timings = await charged(
        request,
        client,
        sum(map(len, (*wanted.text, *wanted.translation))),
        lambda runtime, timeout: runtime.service.score(wanted.to_pipeline(), client.turn, timeout),
    )
    record_stages(request.app.state.tracer, timings)
    return Response(
        await answer_json(answer),
        media_type="application/json",
        headers={"Server-Timing": server_timing(timings)},
    )
