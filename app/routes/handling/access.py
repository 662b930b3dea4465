"""Identifies the client by the key in a request."""

from __future__ import annotations

from fastapi import Request

from app.accounts.clients import Client, Keys

_SCHEMES = ("bearer", "deepl-auth-key")


def client_of(request: Request, api_key: object = None) -> Client:
    """Return the client, by the header Authorization or else the given key.

    Raises `MissingKeyError`, `WrongKeyError`.
    """
    keys: Keys = request.app.state.keys
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    presented = key.strip() if scheme.lower() in _SCHEMES else None
    if not presented and isinstance(api_key, str):
        presented = api_key
    return keys.client(presented, request.client.host if request.client else "")


async def known_client(request: Request) -> Client:
    """Return the client by the header only, as a FastAPI dependency. Raises as `client_of`."""
    return client_of(request)
