"""Texts, languages and usage in DeepL's dialect, and its features that are not supported."""

from http import HTTPStatus
from typing import Any

from fastapi import HTTPException, Request, Response

from app.languages.served import Languages
from app.routes.deepl.chosen_entries import chosen_entries
from app.routes.handling.charging import translated
from app.routes.handling.dependencies import (
    CurrentLedger,
    KnownClient,
    ReadyRuntime,
    SentParameters,
)
from app.routes.handling.responses import languages_response
from app.routes.handling.routing import Router
from app.wire.dialects import deepl as wire
from app.wire.openapi import EXAMPLES, deepl_errors, query_parameters, request_body

router = Router(tags=["DeepL"])


@router.post(
    "/v2/translate",
    response_model=wire.DeepLAnswer,
    response_model_exclude_none=True,
    openapi_extra=request_body(
        wire.DeepLRequest, form=wire.DeepLRequest, example=EXAMPLES["deepl_request"]
    ),
    responses=deepl_errors(400, 403, 404, 413, 415, 429, 456, 500, 503),
)
async def deepl_translate(
    request: Request, client: KnownClient, parameters: SentParameters
) -> Response:
    """Translate texts, each from its detected language unless one is given."""
    parsed = wire.DeepLRequest.parse(parameters)
    native = parsed.native(await chosen_entries(request, client, parsed))
    translation, _ = await translated(request, client, native.to_pipeline())
    answer = wire.DeepLAnswer.of(parsed, translation).model_dump_json(exclude_none=True)
    return Response(answer, headers=parsed.headers, media_type="application/json")


_TYPE = {"type": "string", "enum": ["source", "target"], "default": "source"}
_LANGUAGES: dict[str, Any] = {
    "response_model_exclude_none": True,
    "openapi_extra": {"parameters": [{"name": "type", "in": "query", "schema": _TYPE}]},
    "responses": deepl_errors(400, 403, 413, 415, 503),
}


@router.get("/v2/languages", response_model=list[wire.DeepLLanguage], **_LANGUAGES)
@router.post(
    "/v2/languages",
    name="deepl_post_languages",
    response_model=list[wire.DeepLLanguage],
    **_LANGUAGES,
)
async def deepl_languages(
    _: KnownClient, runtime: ReadyRuntime, parameters: SentParameters
) -> Response:
    """Source or target languages; `type` may be in the query or, even with GET, in a form."""
    is_target = wire.LanguagesRequest.parse(parameters).type == "target"
    return languages_response(_targets if is_target else _sources, runtime.service.languages)


def _sources(languages: Languages) -> list[wire.DeepLLanguage]:
    return wire.source_languages(languages.sources)


def _targets(languages: Languages) -> list[wire.DeepLLanguage]:
    return wire.target_languages(languages.targets)


@router.get(
    "/v3/languages",
    openapi_extra=query_parameters("resource"),
    responses=deepl_errors(400, 403, 413, 415, 503),
)
async def deepl_resource_languages(
    _: KnownClient, runtime: ReadyRuntime, parameters: SentParameters
) -> list[wire.ResourceLanguage]:
    """The languages of texts, documents or glossaries."""
    return wire.ResourceRequest.parse(parameters).languages(runtime.service.languages)


@router.get("/v2/usage", responses=deepl_errors(403))
async def deepl_usage(client: KnownClient, ledger: CurrentLedger) -> wire.DeepLUsage:
    """Characters translated for the key this month, and the limit."""
    limit = wire.UNLIMITED if ledger.limit is None else ledger.limit
    return wire.DeepLUsage(character_count=ledger.used(client.account), character_limit=limit)


UNSUPPORTED = {
    "/v2/write/{rest:path}": "improving texts (/v2/write)",
    "/v3/write/{rest:path}": "improving texts (/v3/write)",
    "/v3/style_rules": "style rules (/v3/style_rules)",
    "/v3/style_rules/{rest:path}": "style rules (/v3/style_rules)",
    "/v3/translation_memories": "translation memories (/v3/translation_memories)",
    "/v3/translation_memories/{rest:path}": "translation memories (/v3/translation_memories)",
    "/v3/voice/{rest:path}": "translating speech (/v3/voice)",
    "/v2/admin/{rest:path}": "administration of keys (/v2/admin)",
}
"""Features of DeepL's API, refused by name: a 404 alone would look like a wrong address."""


async def refuse(request: Request, _: KnownClient) -> None:
    """Name the feature. Raises `HTTPException` 404, and as `client_of`."""
    feature = UNSUPPORTED[request.scope["route"].path]
    raise HTTPException(HTTPStatus.NOT_FOUND, f"this server does not support {feature}")


for path in UNSUPPORTED:
    router.add_api_route(
        path, refuse, methods=["GET", "POST", "PUT", "PATCH", "DELETE"], include_in_schema=False
    )
