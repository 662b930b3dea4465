"""POST /translate: the native dialect, and LibreTranslate's on the same path."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.routes import libretranslate
from app.routes.handling.charging import streamed, translated
from app.routes.handling.dependencies import client_of
from app.routes.handling.dialect_choice import LibreTranslateForm, read_either
from app.routes.handling.json_response import timed_response
from app.routes.handling.routing import PlainRoute
from app.settings import Settings
from app.wire.dialects.libretranslate import LibreTranslateRequest
from app.wire.examples import EXAMPLES
from app.wire.native.translate_request import TranslateRequest
from app.wire.openapi import TRANSLATE_ANSWERS, request_body

router = APIRouter(tags=["translation"], route_class=PlainRoute)


@router.post(
    "/translate",
    openapi_extra=request_body(
        TranslateRequest,
        LibreTranslateRequest,
        form=LibreTranslateRequest,
        examples=EXAMPLES["translate_request"],
    ),
    responses=TRANSLATE_ANSWERS,
)
async def translate(request: Request) -> Response:
    """Translate one text or many, optionally as a stream; with `q` instead of `text`, as
    LibreTranslate does."""
    settings: Settings = request.app.state.settings
    body = await read_either(request, settings.max_body_bytes, TranslateRequest)
    if isinstance(body, LibreTranslateForm):
        return await libretranslate.translate(request, body)
    client = client_of(request)
    parsed = TranslateRequest.parse(body)
    translation = parsed.to_pipeline()
    if parsed.stream:
        return await streamed(request, client, translation)
    answer, timings = await translated(request, client, translation)
    return await timed_response(answer, timings)
