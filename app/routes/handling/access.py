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
    address = request.client.host if request.client else ""
    return keys.client(_presented(request, api_key), address)


def holder_of(request: Request, api_key: object = None) -> Client | None:
    """As `client_of`, but None if no key is presented. Raises `WrongKeyError`."""
    return client_of(request, api_key) if _presented(request, api_key) else None


def _presented(request: Request, api_key: object) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in _SCHEMES and key.strip():
        return key.strip()
    return api_key if isinstance(api_key, str) and api_key else None
