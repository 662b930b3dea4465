"""Administration, on a port of its own."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from app.routes.handling.dependencies import current_lifecycle
from app.runtime import Lifecycle
from app.wire.native.answers import Info

router = APIRouter(tags=["admin"])


@router.post("/reload")
async def reload(lifecycle: Annotated[Lifecycle, Depends(current_lifecycle)]) -> Info:
    """Load the checkpoints anew and serve them; answers when that is done, or why it is not."""
    return (await lifecycle.reload()).info
