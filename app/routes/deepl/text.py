"""Texts, languages and usage in DeepL's dialect."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.routes.deepl.parameters import chosen_entries
from app.routes.handling.body import read_parameters
from app.routes.handling.charging import translated
from app.routes.handling.dependencies import (
    CurrentLedger,
    CurrentSettings,
    KnownClient,
    ReadyRuntime,
)
from app.runtime import Runtime
from app.settings import Settings
from app.wire.dialects.deepl import (
    UNLIMITED,
    DeepLAnswer,
    DeepLLanguage,
    DeepLRequest,
    DeepLUsage,
    LanguagesRequest,
    source_languages,
    target_languages,
)
from app.wire.openapi import DEEPL_LANGUAGES_PARAMETERS, DEEPL_REQUEST_BODY, deepl_errors

router = APIRouter(prefix="/v2", tags=["DeepL"])


@router.post(
    "/translate",
    response_model=DeepLAnswer,
    response_model_exclude_none=True,
    openapi_extra={"requestBody": DEEPL_REQUEST_BODY},
    responses=deepl_errors(400, 403, 404, 413, 415, 429, 456, 500, 503),
)
async def deepl_translate(
    request: Request, client: KnownClient, settings: CurrentSettings
) -> Response:
    """Translate texts, each from its detected language unless one is given."""
    asked = DeepLRequest.parse(await read_parameters(request, settings.max_body_bytes))
    wanted = asked.native(await chosen_entries(request, client, asked))
    answer, _ = await translated(request, client, wanted)
    shown = DeepLAnswer.of(asked, answer)
    return Response(shown.model_dump_json(exclude_none=True), media_type="application/json")


async def _languages(request: Request, settings: Settings, runtime: Runtime) -> list[DeepLLanguage]:
    said = await read_parameters(request, settings.max_body_bytes)
    languages = runtime.service.languages
    if LanguagesRequest.parse(said).type == "target":
        return target_languages(languages.targets)
    return source_languages([language.code for language in languages.sources])


@router.head("/languages", include_in_schema=False)
@router.get(
    "/languages",
    response_model_exclude_none=True,
    openapi_extra={"parameters": DEEPL_LANGUAGES_PARAMETERS},
    responses=deepl_errors(400, 403, 413, 415, 503),
)
async def deepl_languages(
    request: Request, _: KnownClient, settings: CurrentSettings, runtime: ReadyRuntime
) -> list[DeepLLanguage]:
    """Source or target languages; `type` may be in the query or, even with GET, in a form."""
    return await _languages(request, settings, runtime)


@router.post(
    "/languages",
    response_model_exclude_none=True,
    openapi_extra={"parameters": DEEPL_LANGUAGES_PARAMETERS},
    responses=deepl_errors(400, 403, 413, 415, 503),
)
async def deepl_post_languages(
    request: Request, _: KnownClient, settings: CurrentSettings, runtime: ReadyRuntime
) -> list[DeepLLanguage]:
    """As GET."""
    return await _languages(request, settings, runtime)


@router.head("/usage", include_in_schema=False)
@router.get("/usage", responses=deepl_errors(403))
async def deepl_usage(client: KnownClient, ledger: CurrentLedger) -> DeepLUsage:
    """Characters translated for the key this month, and the limit."""
    limit = UNLIMITED if ledger.limit is None else ledger.limit
    return DeepLUsage(character_count=ledger.used(client.account), character_limit=limit)
