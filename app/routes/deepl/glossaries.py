"""Stored glossaries in DeepL's dialect, version 2: those of one language pair."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from fastapi import APIRouter, Request, Response

from app.accounts.glossary_entries import entries_as_tsv
from app.routes.deepl.parameters import GlossaryId, read_dictionary
from app.routes.handling.dependencies import (
    CurrentGlossaries,
    KnownClient,
    ReadyRuntime,
    SentParameters,
)
from app.wire.dialects.deepl_glossaries import (
    TSV,
    DeepLGlossaries,
    DeepLGlossary,
    DeepLGlossaryPairs,
    DeepLGlossaryRequest,
    sole_dictionary,
)
from app.wire.openapi import DEEPL_GLOSSARY_PATH, DEEPL_GLOSSARY_REQUEST_BODY, deepl_errors

router = APIRouter(prefix="/v2", tags=["DeepL"])


@router.head("/glossary-language-pairs", include_in_schema=False)
@router.get("/glossary-language-pairs", responses=deepl_errors(403, 503))
async def deepl_glossary_language_pairs(
    _: KnownClient, runtime: ReadyRuntime
) -> DeepLGlossaryPairs:
    """The pairs that glossaries may have: all that the server translates."""
    languages = runtime.service.languages
    return DeepLGlossaryPairs.of(
        [(source.code, target) for source in languages.sources for target in source.targets]
    )


@router.post(
    "/glossaries",
    status_code=HTTPStatus.CREATED,
    openapi_extra={"requestBody": DEEPL_GLOSSARY_REQUEST_BODY},
    responses=deepl_errors(400, 403, 413, 415, 429, 456, 500, 503, 507),
)
async def deepl_create_glossary(
    request: Request,
    client: KnownClient,
    runtime: ReadyRuntime,
    store: CurrentGlossaries,
    said: SentParameters,
) -> DeepLGlossary:
    """Store a glossary."""
    asked = DeepLGlossaryRequest.parse(said)
    pair, entries = await read_dictionary(request, client, asked, runtime.service.languages)
    stored = await asyncio.to_thread(store.add, client.account, asked.name, {pair: entries})
    return DeepLGlossary.of(stored)


@router.head("/glossaries", include_in_schema=False)
@router.get("/glossaries", responses=deepl_errors(403, 500, 503))
async def deepl_list_glossaries(client: KnownClient, store: CurrentGlossaries) -> DeepLGlossaries:
    """The client's glossaries, oldest first."""
    return DeepLGlossaries.of(await asyncio.to_thread(store.all_of, client.account))


@router.head("/glossaries/{glossary_id}", include_in_schema=False)
@router.get(
    "/glossaries/{glossary_id}",
    openapi_extra=DEEPL_GLOSSARY_PATH,
    responses=deepl_errors(403, 404, 500, 503),
)
async def deepl_get_glossary(
    glossary_id: GlossaryId, client: KnownClient, store: CurrentGlossaries
) -> DeepLGlossary:
    """A glossary without its entries."""
    return DeepLGlossary.of(await asyncio.to_thread(store.get, glossary_id, client.account))


@router.head("/glossaries/{glossary_id}/entries", include_in_schema=False)
@router.get(
    "/glossaries/{glossary_id}/entries",
    openapi_extra=DEEPL_GLOSSARY_PATH,
    response_class=Response,
    responses={
        200: {"content": {TSV: {"schema": {"type": "string"}, "example": "house\tdemeure"}}},
        **deepl_errors(403, 404, 500, 503),
    },
)
async def deepl_glossary_entries(
    glossary_id: GlossaryId, client: KnownClient, store: CurrentGlossaries
) -> Response:
    """A glossary's entries, one per line: source and target separated by a tab."""

    def read() -> dict[str, str]:
        pair = sole_dictionary(store.get(glossary_id, client.account)).pair
        return store.entries(glossary_id, client.account, pair)

    return Response(entries_as_tsv(await asyncio.to_thread(read)), media_type=TSV)


@router.delete(
    "/glossaries/{glossary_id}",
    status_code=HTTPStatus.NO_CONTENT,
    openapi_extra=DEEPL_GLOSSARY_PATH,
    responses=deepl_errors(403, 404, 500, 503),
)
async def deepl_delete_glossary(
    glossary_id: GlossaryId, client: KnownClient, store: CurrentGlossaries
) -> Response:
    """Delete a glossary."""

    def remove() -> None:
        sole_dictionary(store.get(glossary_id, client.account))
        store.remove(glossary_id, client.account)

    await asyncio.to_thread(remove)
    return Response(status_code=HTTPStatus.NO_CONTENT)
