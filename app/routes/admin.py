"""Administration, on a separate port."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, HTTPException, Request

from app.routes.handling.dependencies import CurrentLifecycle
from app.wire.native.answers import Info

router = APIRouter(tags=["admin"])


@router.post("/reload")
async def reload(request: Request, lifecycle: CurrentLifecycle) -> Info:
    """Load the checkpoints again and serve them; respond when that has succeeded or failed.

    A page in an administrator's browser could send this to a port that only they can reach, without
    a preflight (it is a simple request by CORS). Browsers then send Origin; tools do not.
    """
    if "origin" in request.headers:
        raise HTTPException(HTTPStatus.FORBIDDEN, "requests from pages in a browser are refused")
    return (await lifecycle.reload()).info
