"""How long a request may take, as its client says."""

from __future__ import annotations

from fastapi import Request

from app.errors import InvalidRequestError

HEADER = "X-Request-Timeout"


def timeout_of(request: Request) -> float | None:
    """Seconds; None where the client leaves it to the server. Raises `InvalidRequestError`."""
    given = request.headers.get(HEADER)
    if given is None:
        return None
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise InvalidRequestError.at("", f"The header {HEADER} should be a number of seconds")
    return seconds
