"""Administration, on a separate port."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request

from app.routes.handling.dependencies import current_lifecycle
from app.runtime import Lifecycle
from app.wire.native.answers import Info

router = APIRouter(tags=["admin"])


@router.post("/reload")
async def reload(
    request: Request, lifecycle: Annotated[Lifecycle, Depends(current_lifecycle)]
) -> Info:
    """Load the checkpoints anew and serve them; answers when that is done, or why it is not.

    A page in an administrator's browser could send this to a port that only they can reach, without
    asking first (it is a simple request of CORS). Browsers say Origin then, and tools do not.
    """
    if "origin" in request.headers:
        raise HTTPException(HTTPStatus.FORBIDDEN, "this is not for pages in a browser")
    return (await lifecycle.reload()).info
