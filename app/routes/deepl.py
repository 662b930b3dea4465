"""DeepL's dialect, version 2."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.accounts.clients import Client
from app.accounts.usage_ledger import UsageLedger
from app.routes.deepl_glossaries import stored_entries
from app.routes.handling.access import known_client
from app.routes.handling.body import read_parameters
from app.routes.handling.charging import translated
from app.routes.handling.dependencies import current_ledger, current_settings, ready_runtime
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
_Client = Annotated[Client, Depends(known_client)]
_Settings = Annotated[Settings, Depends(current_settings)]
_Runtime = Annotated[Runtime, Depends(ready_runtime)]


@router.post(
    "/translate",
    response_model=DeepLAnswer,
    response_model_exclude_none=True,
    openapi_extra={"requestBody": DEEPL_REQUEST_BODY},
    responses=deepl_errors(400, 403, 404, 413, 415, 429, 456, 500, 503),
)
async def deepl_translate(request: Request, client: _Client, settings: _Settings) -> Response:
    """Translate texts, each from its detected language unless one is given."""
    asked = DeepLRequest.parse(await read_parameters(request, settings.max_body_bytes))
    wanted = asked.native()
    if asked.glossary_id is not None:
        entries = await stored_entries(request, client, asked)
        wanted = wanted.model_copy(update={"glossary": entries})
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
    request: Request, _: _Client, settings: _Settings, runtime: _Runtime
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
    request: Request, _: _Client, settings: _Settings, runtime: _Runtime
) -> list[DeepLLanguage]:
    """As GET."""
    return await _languages(request, settings, runtime)


@router.head("/usage", include_in_schema=False)
@router.get("/usage", responses=deepl_errors(403))
async def deepl_usage(
    client: _Client, ledger: Annotated[UsageLedger, Depends(current_ledger)]
) -> DeepLUsage:
    """Characters translated for the key this month, and the limit."""
    limit = UNLIMITED if ledger.limit is None else ledger.limit
    return DeepLUsage(character_count=ledger.used(client.account), character_limit=limit)
