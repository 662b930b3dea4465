"""What the routes get from the application: dependencies of FastAPI, no globals.

Coroutines, since FastAPI sends plain functions through a pool of threads.
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
    """The settings that `create_app` was given."""
    settings: Settings = request.app.state.settings
    return settings


async def current_lifecycle(request: Request) -> Lifecycle:
    """Where the server is between start and stop."""
    lifecycle: Lifecycle = request.app.state.lifecycle
    return lifecycle


async def current_downloads(request: Request) -> FileStore:
    """Translated files that wait to be fetched, whatever models are loaded meanwhile."""
    downloads: FileStore = request.app.state.downloads
    return downloads


def held_runtime(request: Request) -> Runtime:
    """The models, which stay until this request is answered, whatever is loaded meanwhile.

    To be called once a request. Raises `StartingError`, `DrainingError`, `EngineDownError`.
    """
    lifecycle: Lifecycle = request.app.state.lifecycle
    runtime = lifecycle.open
    request.state.release = runtime.hold()  # the middleware calls it
    return runtime


async def ready_runtime(request: Request) -> Runtime:
    """As `held_runtime`."""
    return held_runtime(request)


async def current_keys(request: Request) -> Keys:
    """The keys of which clients need one, if any."""
    keys: Keys = request.app.state.keys
    return keys


async def current_glossaries(request: Request) -> GlossaryStore:
    """What clients stored."""
    store: GlossaryStore = request.app.state.glossaries
    return store


async def current_ledger(request: Request) -> UsageLedger:
    """Who had how much translated."""
    ledger: UsageLedger = request.app.state.ledger
    return ledger
