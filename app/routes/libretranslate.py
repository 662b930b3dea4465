"""LibreTranslate's dialect. `languages` has GET /languages, which both dialects share."""

import json
from functools import lru_cache
from http import HTTPStatus

from fastapi import FastAPI, Request, Response

from app.documents.files import SUFFIXES
from app.languages.served import language_name
from app.routes.handling.body import Form
from app.routes.handling.charging import spend, translated
from app.routes.handling.dependencies import (
    CurrentKeys,
    CurrentLifecycle,
    CurrentSettings,
    ReadyRuntime,
    client_of,
    held_runtime,
)
from app.routes.handling.routing import Router
from app.wire.dialects import libretranslate as wire
from app.wire.native.answers import Health
from app.wire.openapi import libretranslate_errors

FRONTEND_TIMEOUT_MS = 500
router = Router(tags=["LibreTranslate"])


async def translate(request: Request, values: Form) -> Response:
    """POST /translate for a parsed request of this dialect."""
    client = client_of(request, values.get("api_key"))
    parsed = wire.LibreTranslateRequest.parse(values)
    translation, _ = await translated(request, client, parsed.native().to_pipeline())
    answer = wire.LibreTranslateAnswer.of(parsed, translation)
    return Response(answer.model_dump_json(exclude_none=True), media_type="application/json")


async def detect(request: Request, values: Form) -> list[wire.LibreTranslateDetected]:
    """POST /detect for a request of this dialect; always returns a language."""
    client = client_of(request, values.get("api_key"))
    q = wire.LibreTranslateDetectRequest.parse(values).q
    texts = [q] if isinstance(q, str) else q
    spend(request, client, sum(map(len, texts)))
    return wire.merged(texts, await held_runtime(request).service.detect(texts))


@router.get("/health", responses=libretranslate_errors(503))
async def health(lifecycle: CurrentLifecycle) -> Health:
    """As /readyz."""
    _ = lifecycle.ready
    return Health()


@router.post("/suggest", status_code=HTTPStatus.FORBIDDEN, response_model=wire.LibreTranslateError)
async def suggest() -> Response:
    """Suggestions of better translations are not stored."""
    error = wire.LibreTranslateError(error="Suggestions are disabled on this server.")
    return Response(error.model_dump_json(), HTTPStatus.FORBIDDEN, media_type="application/json")


@router.get("/spec")
async def spec(request: Request) -> Response:
    """The description of this dialect, as Swagger 2.0; /openapi.json describes everything."""
    content = _spec(request.app, request.scope.get("root_path") or "/")
    return Response(content, media_type="application/json")


@lru_cache(maxsize=1)
def _spec(app: FastAPI, base_path: str) -> bytes:
    title = f"{app.title}: LibreTranslate's dialect"
    info = {"title": title, "version": app.version}
    return json.dumps({"swagger": "2.0", "info": info, "basePath": base_path, **wire.SPEC}).encode()


@router.get("/frontend/settings", responses=libretranslate_errors(503))
async def frontend_settings(
    keys: CurrentKeys, settings: CurrentSettings, runtime: ReadyRuntime
) -> wire.FrontendSettings:
    """The options and initial values of a front end."""
    source, *_ = runtime.service.languages.sources
    target, *_ = source.targets
    return wire.FrontendSettings(
        apiKeys=keys.needed,
        charLimit=settings.max_text_characters,
        filesTranslation=True,
        frontendTimeout=FRONTEND_TIMEOUT_MS,
        keyRequired=keys.needed,
        language=wire.FrontendLanguages(
            source=wire.FrontendLanguage(code=source.code, name=source.name),
            target=wire.FrontendLanguage(code=target, name=language_name(target)),
        ),
        suggestions=False,
        supportedFilesFormat=list(SUFFIXES),
    )
