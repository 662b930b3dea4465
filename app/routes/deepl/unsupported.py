"""Features of DeepL's API that this server does not have, refused by name.

A 404 without a name would look like a wrong address.
"""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, HTTPException, Request

from app.routes.handling.dependencies import KnownClient

FEATURES = {
    "/v2/write/{rest:path}": "improving texts (/v2/write)",
    "/v3/write/{rest:path}": "improving texts (/v3/write)",
    "/v3/style_rules": "style rules (/v3/style_rules)",
    "/v3/style_rules/{rest:path}": "style rules (/v3/style_rules)",
    "/v3/translation_memories": "translation memories (/v3/translation_memories)",
    "/v3/translation_memories/{rest:path}": "translation memories (/v3/translation_memories)",
    "/v3/voice/{rest:path}": "translating speech (/v3/voice)",
    "/v2/admin/{rest:path}": "administration of keys (/v2/admin)",
}

router = APIRouter(include_in_schema=False)


async def refuse(request: Request, _: KnownClient) -> None:
    """Name the feature. Raises `HTTPException` 404, and as `client_of`."""
    feature = FEATURES[request.scope["route"].path]
    raise HTTPException(HTTPStatus.NOT_FOUND, f"this server does not support {feature}")


for path in FEATURES:
    router.add_api_route(path, refuse, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
