"""What the routes get from the application: dependencies of FastAPI, no globals.

Coroutines, since FastAPI sends plain functions through a pool of threads.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

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


async def ready_runtime(
    request: Request, lifecycle: Annotated[Lifecycle, Depends(current_lifecycle)]
) -> Runtime:
    """The models, which stay until this request is answered, whatever is loaded meanwhile.

    Raises `StartingError`, `DrainingError`, `EngineDownError`.
    """
    runtime = lifecycle.open
    request.state.release = runtime.hold()  # the middleware calls it
    return runtime
