"""FastAPI dependencies that the application provides to routes, instead of globals.

Coroutines, since FastAPI runs plain functions in a thread pool.
"""

from __future__ import annotations

from fastapi import Request

from app.accounts.clients import Keys
from app.accounts.glossary_store import GlossaryStore
from app.accounts.result_files import FileStore
from app.accounts.usage_ledger import UsageLedger
from app.runtime import Lifecycle, Runtime
from app.settings import Settings


async def current_settings(request: Request) -> Settings:
    """Return the settings passed to `create_app`."""
    settings: Settings = request.app.state.settings
    return settings


async def current_lifecycle(request: Request) -> Lifecycle:
    """Return the server's lifecycle."""
    lifecycle: Lifecycle = request.app.state.lifecycle
    return lifecycle


async def current_downloads(request: Request) -> FileStore:
    """Return the store of translated files, which outlives reloads."""
    downloads: FileStore = request.app.state.downloads
    return downloads


def held_runtime(request: Request) -> Runtime:
    """Return the models and hold them until this request is answered, even after a reload.

    Call once per request. Raises `StartingError`, `DrainingError`, `EngineDownError`.
    """
    lifecycle: Lifecycle = request.app.state.lifecycle
    runtime = lifecycle.open
    request.state.release = runtime.hold()  # the middleware calls it
    return runtime


async def ready_runtime(request: Request) -> Runtime:
    """As `held_runtime`."""
    return held_runtime(request)


async def current_keys(request: Request) -> Keys:
    """Return the API keys."""
    keys: Keys = request.app.state.keys
    return keys


async def current_glossaries(request: Request) -> GlossaryStore:
    """Return the store of glossaries."""
    store: GlossaryStore = request.app.state.glossaries
    return store


async def current_ledger(request: Request) -> UsageLedger:
    """Return the usage ledger."""
    ledger: UsageLedger = request.app.state.ledger
    return ledger
