"""Stored glossaries in DeepL's dialect, version 3: a dictionary per language pair.

They are the same as those of version 2, which shows only glossaries of one pair.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus

from fastapi import APIRouter, Request, Response

from app.accounts.clients import Client
from app.accounts.glossary_entries import entries_as_tsv, parse_entries
from app.accounts.glossary_store import GlossaryStore, Pair
from app.errors import InvalidRequestError, UnknownDictionaryError
from app.languages.served import Languages
from app.routes.deepl.parameters import GlossaryId, dictionary_of, read_dictionary
from app.routes.handling.charging import spend
from app.routes.handling.dependencies import (
    CurrentGlossaries,
    KnownClient,
    ReadyRuntime,
    SentParameters,
)
from app.wire.dialects.deepl_glossaries import DictionaryLanguages, DictionaryRequest
from app.wire.dialects.deepl_multilingual import (
    DictionaryEntries,
    DictionaryInfo,
    GlossaryChanges,
    GlossaryEntriesAnswer,
    MultilingualGlossaries,
    MultilingualGlossary,
    MultilingualGlossaryRequest,
)
from app.wire.openapi import (
    DEEPL_DICTIONARY_PARAMETERS,
    DEEPL_DICTIONARY_REQUEST_BODY,
    DEEPL_GLOSSARY_CHANGES_BODY,
    DEEPL_GLOSSARY_PATH,
    DEEPL_MULTILINGUAL_REQUEST_BODY,
    deepl_errors,
)

router = APIRouter(prefix="/v3", tags=["DeepL"])


@router.post(
    "/glossaries",
    status_code=HTTPStatus.CREATED,
    openapi_extra={"requestBody": DEEPL_MULTILINGUAL_REQUEST_BODY},
    responses=deepl_errors(400, 403, 413, 415, 429, 456, 500, 503, 507),
)
async def deepl_create_multilingual_glossary(
    request: Request,
    client: KnownClient,
    runtime: ReadyRuntime,
    store: CurrentGlossaries,
    said: SentParameters,
) -> MultilingualGlossary:
    """Store a glossary."""
    asked = MultilingualGlossaryRequest.parse(said)
    read = await _read(request, client, asked.dictionaries, runtime.service.languages)
    stored = await asyncio.to_thread(store.add, client.account, asked.name, read)
    return MultilingualGlossary.of(stored)


@router.head("/glossaries", include_in_schema=False)
@router.get("/glossaries", responses=deepl_errors(403, 500, 503))
async def deepl_list_multilingual_glossaries(
    client: KnownClient, store: CurrentGlossaries
) -> MultilingualGlossaries:
    """All glossaries of the client, oldest first."""
    return MultilingualGlossaries.of(await asyncio.to_thread(store.all_of, client.account))


@router.head("/glossaries/{glossary_id}", include_in_schema=False)
@router.get(
    "/glossaries/{glossary_id}",
    openapi_extra=DEEPL_GLOSSARY_PATH,
    responses=deepl_errors(403, 404, 500, 503),
)
async def deepl_get_multilingual_glossary(
    glossary_id: GlossaryId, client: KnownClient, store: CurrentGlossaries
) -> MultilingualGlossary:
    """A glossary without its entries."""
    return MultilingualGlossary.of(await asyncio.to_thread(store.get, glossary_id, client.account))


@router.patch(
    "/glossaries/{glossary_id}",
    openapi_extra={**DEEPL_GLOSSARY_PATH, "requestBody": DEEPL_GLOSSARY_CHANGES_BODY},
    responses=deepl_errors(400, 403, 404, 413, 415, 429, 456, 500, 503, 507),
)
async def deepl_change_multilingual_glossary(
    *,
    request: Request,
    glossary_id: GlossaryId,
    client: KnownClient,
    runtime: ReadyRuntime,
    store: CurrentGlossaries,
    said: SentParameters,
) -> MultilingualGlossary:
    """Rename a glossary, or add entries; those of the same source terms are replaced."""
    asked = GlossaryChanges.parse(said)
    read = await _read(request, client, asked.dictionaries, runtime.service.languages)
    stored = await asyncio.to_thread(store.update, glossary_id, client.account, asked.name, read)
    return MultilingualGlossary.of(stored)


@router.delete(
    "/glossaries/{glossary_id}",
    status_code=HTTPStatus.NO_CONTENT,
    openapi_extra=DEEPL_GLOSSARY_PATH,
    responses=deepl_errors(403, 404, 500, 503),
)
async def deepl_delete_multilingual_glossary(
    glossary_id: GlossaryId, client: KnownClient, store: CurrentGlossaries
) -> Response:
    """Delete a glossary."""
    await asyncio.to_thread(store.remove, glossary_id, client.account)
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.head("/glossaries/{glossary_id}/entries", include_in_schema=False)
@router.get(
    "/glossaries/{glossary_id}/entries",
    openapi_extra=DEEPL_DICTIONARY_PARAMETERS,
    responses=deepl_errors(400, 403, 404, 413, 415, 500, 503),
)
async def deepl_multilingual_glossary_entries(
    glossary_id: GlossaryId,
    client: KnownClient,
    store: CurrentGlossaries,
    said: SentParameters,
) -> GlossaryEntriesAnswer:
    """The entries of one language pair."""
    asked = DictionaryLanguages.parse(said)
    pair = await _stored_pair(store, glossary_id, client, asked)
    entries = await asyncio.to_thread(store.entries, glossary_id, client.account, pair)
    source, target = pair
    return GlossaryEntriesAnswer(
        dictionaries=[
            DictionaryEntries(
                source_lang=source, target_lang=target, entries=entries_as_tsv(entries)
            )
        ]
    )


@router.put(
    "/glossaries/{glossary_id}/dictionaries",
    openapi_extra={**DEEPL_GLOSSARY_PATH, "requestBody": DEEPL_DICTIONARY_REQUEST_BODY},
    responses=deepl_errors(400, 403, 404, 413, 415, 429, 456, 500, 503, 507),
)
async def deepl_replace_dictionary(
    *,
    request: Request,
    glossary_id: GlossaryId,
    client: KnownClient,
    runtime: ReadyRuntime,
    store: CurrentGlossaries,
    said: SentParameters,
) -> DictionaryInfo:
    """Replace or create the dictionary of one language pair."""
    asked = DictionaryRequest.parse(said)
    pair, entries = await read_dictionary(request, client, asked, runtime.service.languages)
    stored = await asyncio.to_thread(store.replace, glossary_id, client.account, pair, entries)
    return DictionaryInfo.of(stored)


@router.delete(
    "/glossaries/{glossary_id}/dictionaries",
    status_code=HTTPStatus.NO_CONTENT,
    openapi_extra=DEEPL_DICTIONARY_PARAMETERS,
    responses=deepl_errors(400, 403, 404, 413, 415, 500, 503),
)
async def deepl_delete_dictionary(
    glossary_id: GlossaryId,
    client: KnownClient,
    store: CurrentGlossaries,
    said: SentParameters,
) -> Response:
    """Delete the dictionary of one language pair."""
    asked = DictionaryLanguages.parse(said)
    pair = await _stored_pair(store, glossary_id, client, asked)
    await asyncio.to_thread(store.remove_dictionary, glossary_id, client.account, pair)
    return Response(status_code=HTTPStatus.NO_CONTENT)


async def _read(
    request: Request,
    client: Client,
    dictionaries: Sequence[DictionaryRequest],
    languages: Languages,
) -> dict[Pair, dict[str, str]]:
    """Charge and parse dictionaries. Raises `InvalidRequestError` with the place of a fault."""
    spend(request, client, sum(len(one.entries) for one in dictionaries))
    found: dict[Pair, dict[str, str]] = {}
    for index, one in enumerate(dictionaries):
        place = f"/dictionaries/{index}"
        pair = languages.pair(one.source_lang, one.target_lang)
        if pair in found:
            raise InvalidRequestError.at(place, "There is another dictionary of these languages")
        found[pair] = await asyncio.to_thread(
            parse_entries, one.entries, one.entries_format, f"{place}/entries"
        )
    return found


async def _stored_pair(
    store: GlossaryStore, glossary_id: str, client: Client, asked: DictionaryLanguages
) -> Pair:
    """Return the codes of a stored dictionary, whether or not they are still served."""
    stored = await asyncio.to_thread(store.get, glossary_id, client.account)
    found = dictionary_of(stored, asked.source_lang, asked.target_lang)
    if found is None:
        raise UnknownDictionaryError
    return found.pair
