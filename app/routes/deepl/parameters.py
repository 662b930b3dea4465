"""What the routes of DeepL's dialect have in common: ids in paths, dictionaries, glossaries."""

from __future__ import annotations

import asyncio
from typing import Annotated, TypeAlias

from fastapi import Depends, Request

from app.accounts.clients import Client
from app.accounts.glossary_entries import parse_entries
from app.accounts.glossary_store import GlossaryStore, Pair, StoredDictionary, StoredGlossary
from app.errors import InvalidRequestError
from app.languages.served import Languages, fits
from app.routes.handling.charging import spend
from app.runtime import Lifecycle
from app.wire.dialects.deepl import TranslationOptions
from app.wire.dialects.deepl_glossaries import DictionaryRequest


async def _glossary_id(request: Request) -> str:
    """Read from the request, since FastAPI would document an error response that never occurs."""
    glossary_id: str = request.path_params["glossary_id"]
    return glossary_id


async def _document_id(request: Request) -> str:
    document_id: str = request.path_params["document_id"]
    return document_id


GlossaryId: TypeAlias = Annotated[str, Depends(_glossary_id)]
DocumentId: TypeAlias = Annotated[str, Depends(_document_id)]


async def chosen_entries(
    request: Request, client: Client, asked: TranslationOptions
) -> dict[str, str]:
    """Return the entries of the glossaries that a translation selects by id.

    If several have a term, the first one's counts. Raises `UnknownGlossaryError`, and
    `InvalidRequestError` if one has no dictionary of the translation's languages.
    """
    chosen = asked.glossaries
    if not chosen or asked.source_lang is None:
        return {}
    store: GlossaryStore = request.app.state.glossaries
    lifecycle: Lifecycle = request.app.state.lifecycle
    languages = lifecycle.open.service.languages  # the translation holds the models later
    chain = languages.chain(asked.source_lang, asked.target_lang)
    entries: dict[str, str] = {}
    for glossary_id in chosen:
        stored = await asyncio.to_thread(store.get, glossary_id, client.account)
        pair = _dictionary(stored, chain[0], chain[-1]).pair
        found = await asyncio.to_thread(store.entries, stored.id, client.account, pair)
        entries = found | entries
    return entries


def dictionary_of(stored: StoredGlossary, source: str, target: str) -> StoredDictionary | None:
    """Return a glossary's dictionary by codes as clients say them, such as EN-US for en."""
    for one in stored.dictionaries:
        if fits(source, one.source) and fits(target, one.target):
            return one
    return None


def _dictionary(stored: StoredGlossary, source: str, target: str) -> StoredDictionary:
    found = dictionary_of(stored, source, target)
    if found is None:
        pairs = ", ".join(f"{one.source} to {one.target}" for one in stored.dictionaries[:5])
        raise InvalidRequestError.at(
            "/glossary_id",
            f"No dictionary found for language pair; this glossary is for {pairs or 'nothing'}",
        )
    return found


async def read_dictionary(
    request: Request, client: Client, asked: DictionaryRequest, languages: Languages
) -> tuple[Pair, dict[str, str]]:
    """Charge and parse the entries of one language pair.

    Raises as `spend`, `Languages.pair` and `parse_entries`.
    """
    spend(request, client, len(asked.entries))
    pair = languages.pair(asked.source_lang, asked.target_lang)
    return pair, await asyncio.to_thread(parse_entries, asked.entries, asked.entries_format)
