"""Liveness, startup and readiness probes."""

from __future__ import annotations

from fastapi import APIRouter

from app.errors import EngineDownError
from app.routes.handling.dependencies import CurrentLifecycle
from app.wire.native.answers import Health

router = APIRouter(tags=["health"])


@router.head("/livez", include_in_schema=False)
@router.get("/livez")
async def livez(lifecycle: CurrentLifecycle) -> Health:
    """200 while the event loop and all engines work; otherwise a restart helps."""
    if not lifecycle.alive:
        raise EngineDownError
    return Health()


@router.head("/startupz", include_in_schema=False)
@router.get("/startupz")
async def startupz(lifecycle: CurrentLifecycle) -> Health:
    """200 once every model is loaded and has translated one text."""
    _ = lifecycle.started
    return Health()


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz")
async def readyz(lifecycle: CurrentLifecycle) -> Health:
    """200 while requests should be sent here: started, not stopping, engines running."""
    _ = lifecycle.ready
    return Health()
