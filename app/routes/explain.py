"""POST /explain: the search for one sentence's translation, step by step, and its attention."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import TypeAdapter

from app.explanation.answer import ExplainAnswer
from app.explanation.search_view import AttentionQuery, SearchView
from app.routes.handling.body import read_json
from app.routes.handling.charging import charged
from app.routes.handling.dependencies import CurrentSettings, KnownClient
from app.wire.examples import EXPLAIN_ANSWER_EXAMPLE, EXPLAIN_REQUEST_EXAMPLES
from app.wire.native.explain_request import ExplainRequest
from app.wire.openapi import problem_answers, request_body

router = APIRouter(tags=["translation"])

_ANSWER = TypeAdapter(ExplainAnswer)


@router.post(
    "/explain",
    response_model=ExplainAnswer,
    openapi_extra=request_body(ExplainRequest, examples=EXPLAIN_REQUEST_EXAMPLES),
    responses={
        200: {"content": {"application/json": {"example": EXPLAIN_ANSWER_EXAMPLE}}},
        **problem_answers(401, 403, 404, 413, 415, 422, 429, 500, 503, 504),
    },
)
async def explain(request: Request, client: KnownClient, settings: CurrentSettings) -> Response:
    """Show how one sentence is translated: each step of the search, and attention with numbers."""
    wanted = ExplainRequest.parse(await read_json(request, settings.max_body_bytes))
    query = AttentionQuery(**dict(wanted.attention)) if wanted.attention else None
    answer = await charged(
        request,
        client,
        len(wanted.text),
        lambda runtime, timeout: runtime.service.explain(
            wanted.to_pipeline(),
            lambda step, caller: SearchView(step, caller).explain(
                wanted.text, query, wanted.positions
            ),
            client.turn,
            timeout,
        ),
    )
    return Response(_ANSWER.dump_json(answer), media_type="application/json")
