"""Which client asks, by the key that a request presents."""

from __future__ import annotations

from fastapi import Request

from app.accounts.clients import Client, Keys

_SCHEMES = ("bearer", "deepl-auth-key")


def client_of(request: Request, api_key: object = None) -> Client:
    """The client, by the header Authorization or else a key found elsewhere.

    Raises `MissingKeyError`, `WrongKeyError`.
    """
    keys: Keys = request.app.state.keys
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    presented = key.strip() if scheme.lower() in _SCHEMES else None
    if not presented and isinstance(api_key, str):
        presented = api_key
    return keys.client(presented, request.client.host if request.client else "")


async def known_client(request: Request) -> Client:
    """The client by the header alone, as a dependency of FastAPI. Raises as `client_of`."""
    return client_of(request)
