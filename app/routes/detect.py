"""POST /detect: the native dialect, and LibreTranslate's on the same path."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from app.detect_request import DetectRequest
from app.dialects.libretranslate import LibreTranslateDetected
from app.openapi import DETECT_REQUEST_BODY, LIBRETRANSLATE_OR_NATIVE_ERRORS
from app.routes import libretranslate
from app.routes.access import client_of
from app.routes.charged import spend
from app.routes.either import LibreTranslate, read_either
from app.routes.state import current_settings, held_runtime
from app.schemas import DetectedLanguage
from app.settings import Settings

router = APIRouter(tags=["translation"])


@router.post(
    "/detect",
    openapi_extra={"requestBody": DETECT_REQUEST_BODY},
    responses=LIBRETRANSLATE_OR_NATIVE_ERRORS,
)
async def detect(
    request: Request, settings: Annotated[Settings, Depends(current_settings)]
) -> (
    list[list[DetectedLanguage]] | list[LibreTranslateDetected] | list[list[LibreTranslateDetected]]
):
    """Of every text the languages that it may be in, best first; of one text, a list of one.

    With `q` for `text` as LibreTranslate does: of one text its languages themselves.
    """
    said = await read_either(request, settings.max_body_bytes)
    if isinstance(said, LibreTranslate):
        return await libretranslate.detect(request, said.parameters)
    client = client_of(request)
    wanted = DetectRequest.parse(said.value)
    spend(request, client, sum(map(len, wanted.text)))
    found = await held_runtime(request).service.detect(wanted.text)
    return [
        [DetectedLanguage(language=one.language, confidence=one.confidence) for one in candidates]
        for candidates in found
    ]
