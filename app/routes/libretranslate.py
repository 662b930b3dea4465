"""LibreTranslate's dialect. `languages` has GET /languages, which both dialects share."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Request, Response

from app.documents.files import SUFFIXES
from app.languages.served import language_name
from app.routes.handling.access import client_of
from app.routes.handling.body import Form
from app.routes.handling.charging import spend, translated
from app.routes.handling.dependencies import (
    CurrentKeys,
    current_lifecycle,
    current_settings,
    held_runtime,
    ready_runtime,
)
from app.routes.handling.routing import Router
from app.runtime import Lifecycle, Runtime
from app.settings import Settings
from app.wire.dialects.libretranslate import (
    FrontendLanguage,
    FrontendLanguages,
    FrontendSettings,
    LibreTranslateAnswer,
    LibreTranslateDetected,
    LibreTranslateDetectRequest,
    LibreTranslateError,
    LibreTranslateRequest,
)
from app.wire.dialects.libretranslate_spec import swagger
from app.wire.native.answers import Health
from app.wire.openapi import libretranslate_errors

FRONTEND_TIMEOUT_MS = 500
router = Router(tags=["LibreTranslate"])


async def translate(request: Request, values: Form) -> Response:
    """POST /translate for a parsed request of this dialect."""
    client = client_of(request, values.get("api_key"))
    asked = LibreTranslateRequest.parse(values)
    answer, _ = await translated(request, client, asked.native())
    shown = LibreTranslateAnswer.of(asked, answer)
    return Response(shown.model_dump_json(exclude_none=True), media_type="application/json")


async def detect(
    request: Request, values: Form
) -> list[LibreTranslateDetected] | list[list[LibreTranslateDetected]]:
    """POST /detect for a request of this dialect; always returns a language."""
    client = client_of(request, values.get("api_key"))
    asked = LibreTranslateDetectRequest.parse(values)
    texts = [asked.q] if isinstance(asked.q, str) else asked.q
    spend(request, client, sum(map(len, texts)))
    service = held_runtime(request).service
    shown = [
        [LibreTranslateDetected.of(one) for one in candidates] or [LibreTranslateDetected.of(None)]
        for candidates in await service.detect(texts)
    ]
    return shown[0] if isinstance(asked.q, str) else shown


@router.get("/health", responses=libretranslate_errors(503))
async def health(lifecycle: Annotated[Lifecycle, Depends(current_lifecycle)]) -> Health:
    """As /readyz."""
    _ = lifecycle.ready
    return Health()


@router.post("/suggest", status_code=HTTPStatus.FORBIDDEN, response_model=LibreTranslateError)
async def suggest() -> Response:
    """Suggestions of better translations are not stored."""
    said = LibreTranslateError(error="Suggestions are disabled on this server.")
    return Response(said.model_dump_json(), HTTPStatus.FORBIDDEN, media_type="application/json")


@router.get("/spec")
async def spec(request: Request) -> dict[str, Any]:
    """The description of this dialect, as Swagger 2.0; /openapi.json describes everything."""
    root = request.scope.get("root_path", "")
    return swagger(request.app.title, request.app.version, root or "/", SUFFIXES)


@router.get("/frontend/settings", responses=libretranslate_errors(503))
async def frontend_settings(
    keys: CurrentKeys,
    settings: Annotated[Settings, Depends(current_settings)],
    runtime: Annotated[Runtime, Depends(ready_runtime)],
) -> FrontendSettings:
    """The options and initial values of a front end."""
    source, *_ = runtime.service.languages.sources
    target, *_ = source.targets
    return FrontendSettings(
        apiKeys=keys.needed,
        charLimit=settings.max_text_characters,
        filesTranslation=True,
        frontendTimeout=FRONTEND_TIMEOUT_MS,
        keyRequired=keys.needed,
        language=FrontendLanguages(
            source=FrontendLanguage(code=source.code, name=source.name),
            target=FrontendLanguage(code=target, name=language_name(target)),
        ),
        suggestions=False,
        supportedFilesFormat=list(SUFFIXES),
    )
