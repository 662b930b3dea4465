"""GET /info: the served models."""

from __future__ import annotations

from fastapi import APIRouter

from app.routes.handling.dependencies import ReadyRuntime
from app.wire.native.answers import Info
from app.wire.openapi import problem_answers

router = APIRouter(tags=["model"])


@router.head("/info", include_in_schema=False)
@router.get("/info", responses=problem_answers(401, 503))
async def info(runtime: ReadyRuntime) -> Info:
    """Each model's configuration, parameters, digest, device and precision; attend's version."""
    return runtime.info
