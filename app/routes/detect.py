"""POST /detect: the native dialect, and LibreTranslate's on the same path."""

from __future__ import annotations

from fastapi import APIRouter, Request

from app.languages.detection import DetectedLanguage
from app.routes import libretranslate
from app.routes.handling.charging import spend
from app.routes.handling.dependencies import CurrentSettings, client_of, held_runtime
from app.routes.handling.dialect_choice import LibreTranslateForm, read_either
from app.wire.dialects.libretranslate import LibreTranslateDetected, LibreTranslateDetectRequest
from app.wire.examples import EXAMPLES
from app.wire.native.request import DetectRequest
from app.wire.openapi import SHARED_PATH_ERRORS, request_body

router = APIRouter(tags=["translation"])


@router.post(
    "/detect",
    openapi_extra=request_body(
        DetectRequest,
        LibreTranslateDetectRequest,
        form=LibreTranslateDetectRequest,
        examples=EXAMPLES["detect_request"],
    ),
    responses=SHARED_PATH_ERRORS,
)
async def detect(
    request: Request, settings: CurrentSettings
) -> (
    list[list[DetectedLanguage]] | list[LibreTranslateDetected] | list[list[LibreTranslateDetected]]
):
    """Detect the languages of each text, best first; for a single text, a list of one.

    With `q` instead of `text`, as LibreTranslate does: the languages of a single text.
    """
    body = await read_either(request, settings.max_body_bytes, DetectRequest)
    if isinstance(body, LibreTranslateForm):
        return await libretranslate.detect(request, body)
    client = client_of(request)
    wanted = DetectRequest.parse(body)
    spend(request, client, sum(map(len, wanted.text)))
    return await held_runtime(request).service.detect(wanted.text)
