"""Dependencies of routes: the client, the models, the stores.

FastAPI's dependencies are coroutines, since it runs plain functions in a thread pool.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Depends, Request

from app.accounts.clients import Client, Keys
from app.accounts.document_jobs import DocumentJobs
from app.accounts.glossary_store import GlossaryStore
from app.accounts.result_files import FileStore
from app.accounts.usage_ledger import UsageLedger
from app.routes.handling.body import Form, read_parameters
from app.runtime import Lifecycle, Runtime
from app.settings import Settings

_SCHEMES = ("bearer", "deepl-auth-key")


def from_state(name: str) -> Callable[[Request], Awaitable[Any]]:
    """Return a dependency on an attribute of the application's state, set by `create_app`."""

    async def read(request: Request) -> Any:
        return getattr(request.app.state, name)

    return read


def client_of(request: Request, api_key: object = None) -> Client:
    """Return the client, by the header Authorization or else the given key.

    Raises `MissingKeyError`, `WrongKeyError`.
    """
    keys: Keys = request.app.state.keys
    address = request.client.host if request.client else ""
    return keys.client(_presented(request, api_key), address)


def holder_of(request: Request, api_key: object = None) -> Client | None:
    """As `client_of`, but None if no key is presented. Raises `WrongKeyError`."""
    return client_of(request, api_key) if _presented(request, api_key) else None


def _presented(request: Request, api_key: object) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in _SCHEMES and key.strip():
        return key.strip()
    return api_key if isinstance(api_key, str) and api_key else None


def held_runtime(request: Request) -> Runtime:
    """Return the models and hold them until this request is answered, even after a reload.

    Raises `StartingError`, `DrainingError`, `EngineDownError`.
    """
    held: Runtime | None = getattr(request.state, "runtime", None)
    if held is None:
        lifecycle: Lifecycle = request.app.state.lifecycle
        held = request.state.runtime = lifecycle.open
        request.state.release = held.hold()  # the middleware calls it
    return held


async def _ready_runtime(request: Request) -> Runtime:
    return held_runtime(request)


async def _known_client(request: Request) -> Client:
    """Return the client by the header only. Raises as `client_of`."""
    return client_of(request)


async def _sent_parameters(request: Request) -> Form:
    settings: Settings = request.app.state.settings
    return await read_parameters(request, settings.max_body_bytes)


KnownClient = Annotated[Client, Depends(_known_client)]
ReadyRuntime = Annotated[Runtime, Depends(_ready_runtime)]
SentParameters = Annotated[Form, Depends(_sent_parameters)]
"""The query and the body. Name it after `KnownClient`: dependencies run in order."""
CurrentSettings = Annotated[Settings, Depends(from_state("settings"))]
CurrentLifecycle = Annotated[Lifecycle, Depends(from_state("lifecycle"))]
CurrentKeys = Annotated[Keys, Depends(from_state("keys"))]
CurrentLedger = Annotated[UsageLedger, Depends(from_state("ledger"))]
CurrentGlossaries = Annotated[GlossaryStore, Depends(from_state("glossaries"))]
CurrentDocuments = Annotated[DocumentJobs, Depends(from_state("documents"))]
CurrentDownloads = Annotated[FileStore, Depends(from_state("downloads"))]
