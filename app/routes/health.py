"""Liveness, startup and readiness probes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from app.errors import EngineDownError
from app.routes.handling.dependencies import current_lifecycle
from app.runtime import Lifecycle
from app.wire.native.answers import Health

router = APIRouter(tags=["health"])
_Lifecycle = Annotated[Lifecycle, Depends(current_lifecycle)]


@router.head("/livez", include_in_schema=False)
@router.get("/livez")
async def livez(lifecycle: _Lifecycle) -> Health:
    """200 while the event loop and all engines work; otherwise a restart helps."""
    if not lifecycle.alive:
        raise EngineDownError
    return Health()


@router.head("/startupz", include_in_schema=False)
@router.get("/startupz")
async def startupz(lifecycle: _Lifecycle) -> Health:
    """200 once every model is loaded and has translated one text."""
    _ = lifecycle.started
    return Health()


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz")
async def readyz(lifecycle: _Lifecycle) -> Health:
    """200 while requests should be sent here: started, not stopping, engines running."""
    _ = lifecycle.ready
    return Health()
