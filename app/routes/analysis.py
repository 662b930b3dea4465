"""POST /score, the probability of a given translation, and POST /explain, how one is found."""

from typing import Any

from fastapi import Request, Response
from pydantic import TypeAdapter

from app.explanation.answer import ExplainAnswer
from app.explanation.given_pass import ActivationQuery, AttentionQuery
from app.explanation.search_view import explain_search
from app.observe.tracing import record_stages
from app.routes.handling.body import read_json
from app.routes.handling.charging import charged
from app.routes.handling.dependencies import CurrentSettings, KnownClient
from app.routes.handling.responses import timed_response
from app.routes.handling.routing import Router
from app.translation.answers import ScoreAnswer
from app.wire.native.requests import ExplainRequest, ScoreRequest
from app.wire.openapi import EXAMPLES, Responses, problem_answers, request_body

router = Router(tags=["translation"])

_EXPLAIN_ANSWER = TypeAdapter(ExplainAnswer)


def _responses(example: dict[str, Any]) -> Responses:
    return {
        200: {"content": {"application/json": {"example": example}}},
        **problem_answers(401, 403, 404, 413, 415, 422, 429, 500, 503, 504),
    }


@router.post(
    "/score",
    response_model=ScoreAnswer,
    openapi_extra=request_body(ScoreRequest, examples=EXAMPLES["score_request"]),
    responses=_responses(EXAMPLES["score_answer"]),
)
async def score(request: Request, client: KnownClient, settings: CurrentSettings) -> Response:
    """Score a given translation of one text or many; the characters of both are counted."""
    parsed = ScoreRequest.parse(await read_json(request, settings.max_body_bytes))
    answer, timings = await charged(
        request,
        client,
        sum(map(len, (*parsed.text, *parsed.translation))),
        lambda runtime, timeout: runtime.service.score(parsed.to_pipeline(), client.turn, timeout),
    )
    record_stages(request.app.state.tracer, timings)
    return await timed_response(answer, timings)


@router.post(
    "/explain",
    response_model=ExplainAnswer,
    openapi_extra=request_body(ExplainRequest, examples=EXAMPLES["explain_request"]),
    responses=_responses(EXAMPLES["explain_answer"]),
)
async def explain(request: Request, client: KnownClient, settings: CurrentSettings) -> Response:
    """Show how one sentence is translated: each step of the search, and attention with numbers."""
    parsed = ExplainRequest.parse(await read_json(request, settings.max_body_bytes))
    query = AttentionQuery(**dict(parsed.attention)) if parsed.attention else None
    layer = ActivationQuery(**dict(parsed.activations)) if parsed.activations else None
    answer = await charged(
        request,
        client,
        len(parsed.text),
        lambda runtime, timeout: runtime.service.explain(
            parsed.to_pipeline(),
            lambda step, caller: explain_search(
                parsed.text,
                step,
                caller,
                attention=query,
                activations=layer,
                n_positions=parsed.positions,
            ),
            client.turn,
            timeout,
        ),
    )
    return Response(_EXPLAIN_ANSWER.dump_json(answer), media_type="application/json")
