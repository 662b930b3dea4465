"""FastAPI dependencies that the application provides to routes, instead of globals.

Coroutines, since FastAPI runs plain functions in a thread pool.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Depends, Request

from app.accounts.clients import Client, Keys
from app.accounts.document_jobs import DocumentJobs
from app.accounts.glossary_store import GlossaryStore
from app.accounts.result_files import FileStore
from app.accounts.usage_ledger import UsageLedger
from app.routes.handling.access import known_client
from app.routes.handling.body import Form, read_parameters
from app.runtime import Lifecycle, Runtime
from app.settings import Settings


def _from_state(name: str) -> Callable[[Request], Awaitable[Any]]:
    """Return a dependency on what `create_app` left under this name in the application's state."""

    async def read(request: Request) -> Any:
        return getattr(request.app.state, name)

    return read


current_settings = _from_state("settings")
current_lifecycle = _from_state("lifecycle")
current_keys = _from_state("keys")
current_ledger = _from_state("ledger")
current_glossaries = _from_state("glossaries")
current_downloads = _from_state("downloads")
current_documents = _from_state("documents")


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


async def sent_parameters(request: Request) -> Form:
    """Read the query and the body. Name it after `KnownClient`: dependencies run in order."""
    settings: Settings = request.app.state.settings
    return await read_parameters(request, settings.max_body_bytes)


KnownClient = Annotated[Client, Depends(known_client)]
ReadyRuntime = Annotated[Runtime, Depends(ready_runtime)]
SentParameters = Annotated[Form, Depends(sent_parameters)]
CurrentSettings = Annotated[Settings, Depends(current_settings)]
CurrentLifecycle = Annotated[Lifecycle, Depends(current_lifecycle)]
CurrentKeys = Annotated[Keys, Depends(current_keys)]
CurrentLedger = Annotated[UsageLedger, Depends(current_ledger)]
CurrentGlossaries = Annotated[GlossaryStore, Depends(current_glossaries)]
CurrentDocuments = Annotated[DocumentJobs, Depends(current_documents)]
CurrentDownloads = Annotated[FileStore, Depends(current_downloads)]
"""Files live here across reloads."""
