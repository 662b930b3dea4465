"""Stored glossaries in DeepL's dialect, version 2."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.accounts.clients import Client
from app.accounts.glossary_entries import entries_as_tsv, parse_entries
from app.accounts.glossary_store import GlossaryStore
from app.errors import InvalidRequestError
from app.routes.handling.access import known_client
from app.routes.handling.body import read_parameters
from app.routes.handling.charging import spend
from app.routes.handling.dependencies import (
    current_glossaries,
    current_settings,
    ready_runtime,
)
from app.runtime import Lifecycle, Runtime
from app.settings import Settings
from app.wire.dialects.deepl import DeepLRequest
from app.wire.dialects.deepl_glossaries import (
    TSV,
    DeepLGlossaries,
    DeepLGlossary,
    DeepLGlossaryPairs,
    DeepLGlossaryRequest,
)
from app.wire.openapi import DEEPL_GLOSSARY_PATH, DEEPL_GLOSSARY_REQUEST_BODY, deepl_errors

router = APIRouter(prefix="/v2", tags=["DeepL"])
_Client = Annotated[Client, Depends(known_client)]
_Settings = Annotated[Settings, Depends(current_settings)]
_Runtime = Annotated[Runtime, Depends(ready_runtime)]
_Store = Annotated[GlossaryStore, Depends(current_glossaries)]


async def _id_in_path(request: Request) -> str:
    """Read from the request, since FastAPI would document an error response that never occurs."""
    glossary_id: str = request.path_params["glossary_id"]
    return glossary_id


_Id = Annotated[str, Depends(_id_in_path)]


async def stored_entries(request: Request, client: Client, asked: DeepLRequest) -> dict[str, str]:
    """Return the entries of the glossary that a translation selects by id.

    Raises `UnknownGlossaryError`, and `InvalidRequestError` if its languages differ.
    """
    store: GlossaryStore = request.app.state.glossaries
    if asked.glossary_id is None or asked.source_lang is None:
        raise InvalidRequestError.at("/source", "Field required with a glossary")
    stored = await asyncio.to_thread(store.get, asked.glossary_id, client.account)
    lifecycle: Lifecycle = request.app.state.lifecycle
    languages = lifecycle.open.service.languages  # the translation holds the models later
    source, *_, target = languages.chain(asked.source_lang, asked.target_lang)
    if (source, target) != (stored.source, stored.target):
        said = f"{stored.source} to {stored.target}"
        raise InvalidRequestError.at("/glossary_id", f"This glossary is for {said}")
    return await asyncio.to_thread(store.entries, stored.id, client.account)


@router.head("/glossary-language-pairs", include_in_schema=False)
@router.get("/glossary-language-pairs", responses=deepl_errors(403, 503))
async def deepl_glossary_language_pairs(_: _Client, runtime: _Runtime) -> DeepLGlossaryPairs:
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
    request: Request, client: _Client, settings: _Settings, runtime: _Runtime, store: _Store
) -> DeepLGlossary:
    """Store a glossary."""
    asked = DeepLGlossaryRequest.parse(await read_parameters(request, settings.max_body_bytes))
    spend(request, client, len(asked.entries))
    source, *_, target = runtime.service.languages.chain(asked.source_lang, asked.target_lang)
    entries = await asyncio.to_thread(parse_entries, asked.entries, asked.entries_format)
    stored = await asyncio.to_thread(
        store.add, client.account, asked.name, (source, target), entries
    )
    return DeepLGlossary.of(stored)


@router.head("/glossaries", include_in_schema=False)
@router.get("/glossaries", responses=deepl_errors(403, 500, 503))
async def deepl_list_glossaries(client: _Client, store: _Store) -> DeepLGlossaries:
    """The client's glossaries, oldest first."""
    return DeepLGlossaries.of(await asyncio.to_thread(store.all_of, client.account))


@router.head("/glossaries/{glossary_id}", include_in_schema=False)
@router.get(
    "/glossaries/{glossary_id}",
    openapi_extra=DEEPL_GLOSSARY_PATH,
    responses=deepl_errors(403, 404, 500, 503),
)
async def deepl_get_glossary(glossary_id: _Id, client: _Client, store: _Store) -> DeepLGlossary:
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
async def deepl_glossary_entries(glossary_id: _Id, client: _Client, store: _Store) -> Response:
    """A glossary's entries, one per line: source and target separated by a tab."""
    entries = await asyncio.to_thread(store.entries, glossary_id, client.account)
    return Response(entries_as_tsv(entries), media_type=TSV)


@router.delete(
    "/glossaries/{glossary_id}",
    status_code=HTTPStatus.NO_CONTENT,
    openapi_extra=DEEPL_GLOSSARY_PATH,
    responses=deepl_errors(403, 404, 500, 503),
)
async def deepl_delete_glossary(glossary_id: _Id, client: _Client, store: _Store) -> Response:
    """Delete a glossary."""
    await asyncio.to_thread(store.remove, glossary_id, client.account)
    return Response(status_code=HTTPStatus.NO_CONTENT)
