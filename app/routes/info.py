"""GET /info: the served models."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from app.routes.handling.dependencies import ready_runtime
from app.runtime import Runtime
from app.wire.native.answers import Info
from app.wire.openapi import problem_answers

router = APIRouter(tags=["model"])
_Runtime = Annotated[Runtime, Depends(ready_runtime)]


@router.head("/info", include_in_schema=False)
@router.get("/info", responses=problem_answers(401, 503))
async def info(runtime: _Runtime) -> Info:
    """Each model's configuration, parameters, digest, device and precision; attend's version."""
    return runtime.info
