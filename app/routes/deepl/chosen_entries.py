"""The entries of the stored glossaries that a translation in DeepL's dialect selects."""

import asyncio

from fastapi import Request

from app.accounts.clients import Client
from app.accounts.glossary_store import GlossaryStore, StoredDictionary, StoredGlossary
from app.errors import InvalidRequestError
from app.languages.served import fits
from app.runtime import Lifecycle
from app.wire.dialects.deepl import TranslationOptions


async def chosen_entries(
    request: Request, client: Client, options: TranslationOptions
) -> dict[str, str]:
    """Return the entries of the glossaries that a translation selects by id.

    If several have a term, the first one's counts. Raises `UnknownGlossaryError`, and
    `InvalidRequestError` if one has no dictionary of the translation's languages.
    """
    chosen = options.glossaries
    if not chosen or options.source_lang is None:
        return {}
    store: GlossaryStore = request.app.state.glossaries
    lifecycle: Lifecycle = request.app.state.lifecycle
    languages = lifecycle.open.service.languages  # the translation holds the models later
    chain = languages.chain(options.source_lang, options.target_lang)
    entries: dict[str, str] = {}
    for glossary_id in chosen:
        stored = await asyncio.to_thread(store.get, glossary_id, client.account)
        found = dictionary_of(stored, chain[0], chain[-1])
        if found is None:
            pairs = ", ".join(f"{one.source} to {one.target}" for one in stored.dictionaries[:5])
            raise InvalidRequestError.at(
                "/glossary_id",
                f"No dictionary found for language pair; this glossary is for {pairs or 'nothing'}",
            )
        read = await asyncio.to_thread(store.entries, stored.id, client.account, found.pair)
        entries = read | entries
    return entries


def dictionary_of(stored: StoredGlossary, source: str, target: str) -> StoredDictionary | None:
    """Return a glossary's dictionary by codes as clients write them, such as EN-US for en."""
    for one in stored.dictionaries:
        if fits(source, one.source) and fits(target, one.target):
            return one
    return None
