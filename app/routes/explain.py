"""POST /explain: the search for one sentence's translation, step by step, and its attention."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.accounts.clients import Client
from app.accounts.usage_ledger import UsageLedger
from app.explanation.search_view import SearchView
from app.routes.handling.access import known_client
from app.routes.handling.body import read_json
from app.routes.handling.charging import spend
from app.routes.handling.dependencies import current_ledger, current_settings, ready_runtime
from app.routes.handling.disconnect import while_connected
from app.routes.handling.timeout import timeout_of
from app.runtime import Runtime
from app.settings import Settings
from app.wire.examples import EXPLAIN_ANSWER_EXAMPLE
from app.wire.native.explain_answer import ExplainAnswer
from app.wire.native.explain_request import ExplainRequest
from app.wire.openapi import EXPLAIN_REQUEST_BODY, problem_answers

router = APIRouter(tags=["translation"])


@router.post(
    "/explain",
    response_model=ExplainAnswer,
    openapi_extra={"requestBody": EXPLAIN_REQUEST_BODY},
    responses={
        200: {"content": {"application/json": {"example": EXPLAIN_ANSWER_EXAMPLE}}},
        **problem_answers(401, 403, 404, 413, 415, 422, 429, 500, 503, 504),
    },
)
async def explain(
    request: Request,
    client: Annotated[Client, Depends(known_client)],
    settings: Annotated[Settings, Depends(current_settings)],
    runtime: Annotated[Runtime, Depends(ready_runtime)],
    ledger: Annotated[UsageLedger, Depends(current_ledger)],
) -> Response:
    """Show how one sentence is translated: each step of the search, and attention with numbers."""
    wanted = ExplainRequest.parse(await read_json(request, settings.max_body_bytes))
    timeout = timeout_of(request)
    spend(request, client, len(wanted.text))
    with ledger.charge(client.account, len(wanted.text)):
        answer = await while_connected(
            request,
            runtime.service.explain(
                wanted.as_translation, lambda step: SearchView(step).explain(wanted), timeout
            ),
        )
    return Response(answer.model_dump_json(), media_type="application/json")
