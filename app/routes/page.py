"""The web page: GET /, the API reference, their assets, and what the reference is made from."""

import asyncio
import json
from typing import Annotated

from fastapi import Depends, FastAPI, Request, Response
from starlette.exceptions import HTTPException

from app.routes.handling.dependencies import from_state
from app.routes.handling.routing import Router
from app.web.site import CONTENT_SECURITY_POLICY, Site, WebFile

router = Router(include_in_schema=False)
openapi_router = Router(include_in_schema=False)

FOR_EVER = "public, max-age=31536000, immutable"
"""Cache-Control of assets whose URL contains their digest."""

ASK_EACH_TIME = "no-cache"


_Site = Annotated[Site, Depends(from_state("site"))]


@router.get("/")
async def page(request: Request, site: _Site) -> Response:
    """The page: translation, attention, and the model's internals."""
    return _document(request, site.documents["index"])


@router.get("/docs")
@router.get("/redoc")
async def reference(request: Request, site: _Site) -> Response:
    """The API reference, generated from /openapi.json."""
    return _document(request, site.documents["reference"])


@router.get("/web/{digest}/{name:path}")
async def asset(request: Request, site: _Site, digest: str, name: str) -> Response:
    """A script, a style sheet or an image of this version."""
    found = site.assets.get(name) if digest == site.digest else None
    if found is None:
        raise HTTPException(404)
    return _answer(request, found, {"Cache-Control": FOR_EVER})


@openapi_router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """The description of all routes, which takes a tenth of a second to make: made once."""
    state = request.app.state
    if state.openapi is None:
        state.openapi = asyncio.ensure_future(asyncio.to_thread(_described, request.app))
    file: WebFile = await asyncio.shield(state.openapi)
    return _answer(request, file, {"Cache-Control": ASK_EACH_TIME})


def _described(app: FastAPI) -> WebFile:
    return WebFile.of(json.dumps(app.openapi()).encode(), ".json")


def _document(request: Request, document: WebFile) -> Response:
    headers = {
        "Cache-Control": ASK_EACH_TIME,
        "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }
    return _answer(request, document, headers)


def _answer(request: Request, file: WebFile, headers: dict[str, str]) -> Response:
    headers |= {"ETag": file.etag, "Vary": "Accept-Encoding"}
    if file.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    content = file.content
    if "gzip" in request.headers.get("accept-encoding", ""):
        content = file.compressed
        headers["Content-Encoding"] = "gzip"
    return Response(content, headers=headers, media_type=file.media_type)
