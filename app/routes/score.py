"""POST /score: the probability of a given translation."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.accounts.clients import Client
from app.accounts.usage_ledger import UsageLedger
from app.observe.tracing import record_stages
from app.routes.handling.access import known_client
from app.routes.handling.body import read_json
from app.routes.handling.charging import spend
from app.routes.handling.dependencies import current_ledger, current_settings, ready_runtime
from app.routes.handling.disconnect import while_connected
from app.routes.handling.timeout import server_timing, timeout_of
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
    client: Annotated[Client, Depends(known_client)],
    settings: Annotated[Settings, Depends(current_settings)],
    runtime: Annotated[Runtime, Depends(ready_runtime)],
    ledger: Annotated[UsageLedger, Depends(current_ledger)],
) -> Response:
    """Score a given translation of one text or many; the characters of both are counted."""
    wanted = ScoreRequest.parse(await read_json(request, settings.max_body_bytes))
    timeout = timeout_of(request)
    n_characters = sum(map(len, (*wanted.text, *wanted.translation)))
    spend(request, client, n_characters)
    with ledger.charge(client.account, n_characters):
        answer, timings = await while_connected(
            request, runtime.service.score(wanted, client.turn, timeout)
        )
    record_stages(request.app.state.tracer, timings)
    return Response(
        answer.model_dump_json(exclude_none=True),
        media_type="application/json",
        headers={"Server-Timing": server_timing(timings)},
    )
