"""POST /detect."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from app.detect_request import DetectRequest
from app.openapi import DETECT_REQUEST_BODY, problem_answers
from app.routes.body import read_json
from app.routes.state import current_settings, ready_runtime
from app.runtime import Runtime
from app.schemas import DetectedLanguage
from app.settings import Settings

router = APIRouter(tags=["translation"])


@router.post(
    "/detect",
    openapi_extra={"requestBody": DETECT_REQUEST_BODY},
    responses=problem_answers(413, 415, 422, 429, 500, 503, 504),
)
async def detect(
    request: Request,
    settings: Annotated[Settings, Depends(current_settings)],
    runtime: Annotated[Runtime, Depends(ready_runtime)],
) -> list[list[DetectedLanguage]]:
    """Of every text the languages that it may be in, best first; of one text, a list of one."""
    wanted = DetectRequest.parse(await read_json(request, settings.max_body_bytes))
    found = await runtime.service.detect(wanted.text)
    return [
        [DetectedLanguage(language=one.language, confidence=one.confidence) for one in candidates]
        for candidates in found
    ]
