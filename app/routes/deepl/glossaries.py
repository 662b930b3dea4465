"""Stored glossaries in DeepL's dialect; version 2 of its API is a view of those of version 3."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Request, Response

from app.accounts.clients import Client
from app.accounts.glossary_entries import entries_as_tsv, parse_entries
from app.accounts.glossary_store import Pair, StoredGlossary
from app.errors import InvalidRequestError, UnknownDictionaryError
from app.languages.served import Languages
from app.routes.deepl.chosen_entries import dictionary_of
from app.routes.handling.charging import spend
from app.routes.handling.dependencies import (
    CurrentGlossaries,
    KnownClient,
    ReadyRuntime,
    SentParameters,
)
from app.routes.handling.responses import languages_response
from app.routes.handling.routing import Router
from app.wire.dialects import deepl_glossaries as wire
from app.wire.openapi import EXAMPLES, deepl_errors, query_parameters, request_body

router = Router(tags=["DeepL"])

_CREATED: dict[str, Any] = {
    "status_code": HTTPStatus.CREATED,
    "responses": deepl_errors(400, 403, 413, 415, 429, 456, 500, 503, 507),
}
_LISTED: dict[str, Any] = {"responses": deepl_errors(403, 500, 503)}
_FOUND: dict[str, Any] = {"responses": deepl_errors(403, 404, 500, 503)}
_DELETED: dict[str, Any] = _FOUND | {"status_code": HTTPStatus.NO_CONTENT}
_CHANGED: dict[str, Any] = {
    "responses": deepl_errors(400, 403, 404, 413, 415, 429, 456, 500, 503, 507)
}
_DICTIONARY: dict[str, Any] = {
    "openapi_extra": query_parameters("source_lang", "target_lang"),
    "responses": deepl_errors(400, 403, 404, 413, 415, 500, 503),
}


async def _stored(
    glossary_id: str, client: KnownClient, store: CurrentGlossaries
) -> StoredGlossary:
    """Return the client's glossary with this id. Raises `UnknownGlossaryError`."""
    return await asyncio.to_thread(store.get, glossary_id, client.account)


async def _stored_pair(
    glossary_id: str, client: KnownClient, store: CurrentGlossaries, parameters: SentParameters
) -> Pair:
    """Return the codes of a stored dictionary, whether or not they are still served."""
    languages = wire.DictionaryLanguages.parse(parameters)
    stored = await asyncio.to_thread(store.get, glossary_id, client.account)
    found = dictionary_of(stored, languages.source_lang, languages.target_lang)
    if found is None:
        raise UnknownDictionaryError
    return found.pair


_Stored: TypeAlias = Annotated[StoredGlossary, Depends(_stored)]
_StoredPair: TypeAlias = Annotated[Pair, Depends(_stored_pair)]


async def _read(
    request: Request,
    client: Client,
    languages: Languages,
    dictionaries: Mapping[str, wire.DictionaryRequest],
) -> dict[Pair, dict[str, str]]:
    """Charge and parse dictionaries by their locations in the request.

    Raises as `spend` and `Languages.pair`, and `InvalidRequestError` with a location.
    """
    spend(request, client, sum(len(one.entries) for one in dictionaries.values()))
    found: dict[Pair, dict[str, str]] = {}
    for pointer, one in dictionaries.items():
        pair = languages.pair(one.source_lang, one.target_lang)
        if pair in found:
            raise InvalidRequestError.at(pointer, "There is another dictionary of these languages")
        found[pair] = await asyncio.to_thread(
            parse_entries, one.entries, one.entries_format, f"{pointer}/entries"
        )
    return found


# Version 3


@router.post(
    "/v3/glossaries",
    # Forms name the fields of a dictionary as OpenAPI cannot: dictionaries[0].source_lang.
    openapi_extra=request_body(
        wire.MultilingualGlossaryRequest, example=EXAMPLES["deepl_multilingual_glossary"]
    ),
    **_CREATED,
)
async def deepl_create_multilingual_glossary(
    request: Request,
    client: KnownClient,
    runtime: ReadyRuntime,
    store: CurrentGlossaries,
    parameters: SentParameters,
) -> wire.MultilingualGlossary:
    """Store a glossary."""
    parsed = wire.MultilingualGlossaryRequest.parse(parameters)
    read = await _read(request, client, runtime.service.languages, parsed.by_pointer)
    stored = await asyncio.to_thread(store.add, client.account, parsed.name, read)
    return wire.MultilingualGlossary.of(stored)


@router.get("/v3/glossaries", **_LISTED)
async def deepl_list_multilingual_glossaries(
    client: KnownClient, store: CurrentGlossaries
) -> wire.MultilingualGlossaries:
    """All glossaries of the client, oldest first."""
    stored = await asyncio.to_thread(store.all_of, client.account)
    return wire.MultilingualGlossaries(glossaries=list(map(wire.MultilingualGlossary.of, stored)))


@router.get("/v3/glossaries/{glossary_id}", **_FOUND)
async def deepl_get_multilingual_glossary(stored: _Stored) -> wire.MultilingualGlossary:
    """A glossary without its entries."""
    return wire.MultilingualGlossary.of(stored)


@router.patch(
    "/v3/glossaries/{glossary_id}", openapi_extra=request_body(wire.GlossaryChanges), **_CHANGED
)
async def deepl_change_multilingual_glossary(
    *,
    request: Request,
    glossary_id: str,
    client: KnownClient,
    runtime: ReadyRuntime,
    store: CurrentGlossaries,
    parameters: SentParameters,
) -> wire.MultilingualGlossary:
    """Rename a glossary, or add entries; those of the same source terms are replaced."""
    changes = wire.GlossaryChanges.parse(parameters)
    read = await _read(request, client, runtime.service.languages, changes.by_pointer)
    stored = await asyncio.to_thread(store.update, glossary_id, client.account, changes.name, read)
    return wire.MultilingualGlossary.of(stored)


@router.delete("/v3/glossaries/{glossary_id}", **_DELETED)
async def deepl_delete_multilingual_glossary(
    glossary_id: str, client: KnownClient, store: CurrentGlossaries
) -> Response:
    """Delete a glossary."""
    await asyncio.to_thread(store.remove, glossary_id, client.account)
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.get("/v3/glossaries/{glossary_id}/entries", **_DICTIONARY)
async def deepl_multilingual_glossary_entries(
    glossary_id: str, client: KnownClient, store: CurrentGlossaries, pair: _StoredPair
) -> wire.GlossaryEntriesAnswer:
    """The entries of one language pair."""
    entries = await asyncio.to_thread(store.entries, glossary_id, client.account, pair)
    source, target = pair
    dictionary = wire.DictionaryEntries(
        source_lang=source, target_lang=target, entries=entries_as_tsv(entries)
    )
    return wire.GlossaryEntriesAnswer(dictionaries=[dictionary])


@router.put(
    "/v3/glossaries/{glossary_id}/dictionaries",
    openapi_extra=request_body(wire.DictionaryRequest, form=wire.DictionaryRequest),
    **_CHANGED,
)
async def deepl_replace_dictionary(
    *,
    request: Request,
    glossary_id: str,
    client: KnownClient,
    runtime: ReadyRuntime,
    store: CurrentGlossaries,
    parameters: SentParameters,
) -> wire.DictionaryInfo:
    """Replace or create the dictionary of one language pair."""
    parsed = {"": wire.DictionaryRequest.parse(parameters)}
    [(pair, entries)] = (await _read(request, client, runtime.service.languages, parsed)).items()
    stored = await asyncio.to_thread(store.replace, glossary_id, client.account, pair, entries)
    return wire.DictionaryInfo.of(stored)


@router.delete(
    "/v3/glossaries/{glossary_id}/dictionaries", status_code=HTTPStatus.NO_CONTENT, **_DICTIONARY
)
async def deepl_delete_dictionary(
    glossary_id: str, client: KnownClient, store: CurrentGlossaries, pair: _StoredPair
) -> Response:
    """Delete the dictionary of one language pair."""
    await asyncio.to_thread(store.remove_dictionary, glossary_id, client.account, pair)
    return Response(status_code=HTTPStatus.NO_CONTENT)


# Version 2


@router.get(
    "/v2/glossary-language-pairs",
    response_model=wire.DeepLGlossaryPairs,
    responses=deepl_errors(403, 503),
)
async def deepl_glossary_language_pairs(_: KnownClient, runtime: ReadyRuntime) -> Response:
    """The pairs that glossaries may have: all that the server translates."""
    return languages_response(_pairs, runtime.service.languages)


def _pairs(languages: Languages) -> wire.DeepLGlossaryPairs:
    return wire.DeepLGlossaryPairs(
        supported_languages=[
            wire.DeepLGlossaryPair(source_lang=source.code, target_lang=target)
            for source in languages.sources
            for target in source.targets
        ]
    )


@router.post(
    "/v2/glossaries",
    openapi_extra=request_body(
        wire.DeepLGlossaryRequest,
        form=wire.DeepLGlossaryRequest,
        example=EXAMPLES["deepl_glossary"],
    ),
    **_CREATED,
)
async def deepl_create_glossary(
    request: Request,
    client: KnownClient,
    runtime: ReadyRuntime,
    store: CurrentGlossaries,
    parameters: SentParameters,
) -> wire.DeepLGlossary:
    """Store a glossary."""
    parsed = wire.DeepLGlossaryRequest.parse(parameters)
    read = await _read(request, client, runtime.service.languages, {"": parsed})
    stored = await asyncio.to_thread(store.add, client.account, parsed.name, read)
    return wire.DeepLGlossary.of(stored)


@router.get("/v2/glossaries", **_LISTED)
async def deepl_list_glossaries(
    client: KnownClient, store: CurrentGlossaries
) -> wire.DeepLGlossaries:
    """The client's glossaries, oldest first."""
    return wire.DeepLGlossaries.of(await asyncio.to_thread(store.all_of, client.account))


@router.get("/v2/glossaries/{glossary_id}", **_FOUND)
async def deepl_get_glossary(stored: _Stored) -> wire.DeepLGlossary:
    """A glossary without its entries."""
    return wire.DeepLGlossary.of(stored)


@router.get(
    "/v2/glossaries/{glossary_id}/entries",
    response_class=Response,
    responses={
        200: {"content": {wire.TSV: {"schema": {"type": "string"}, "example": "house\tdemeure"}}},
        **_FOUND["responses"],
    },
)
async def deepl_glossary_entries(
    stored: _Stored, client: KnownClient, store: CurrentGlossaries
) -> Response:
    """A glossary's entries, one per line: source and target separated by a tab."""
    pair = wire.sole_dictionary(stored).pair
    entries = await asyncio.to_thread(store.entries, stored.id, client.account, pair)
    return Response(entries_as_tsv(entries), media_type=wire.TSV)


@router.delete("/v2/glossaries/{glossary_id}", **_DELETED)
async def deepl_delete_glossary(
    stored: _Stored, client: KnownClient, store: CurrentGlossaries
) -> Response:
    """Delete a glossary."""
    wire.sole_dictionary(stored)
    return await deepl_delete_multilingual_glossary(stored.id, client, store)
