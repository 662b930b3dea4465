"""The timeout that a client requests, and the time that its request took."""

from __future__ import annotations

from fastapi import Request

from app.errors import InvalidRequestError
from app.observe.timings import Timings

HEADER = "X-Request-Timeout"


def timeout_of(request: Request) -> float | None:
    """Return seconds, or None for the server's default. Raises `InvalidRequestError`."""
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


def server_timing(timings: Timings) -> str:
    """Return the header Server-Timing: milliseconds per stage.

    An engine runs encoder and decoder as one; both count as decode.
    """
    return (
        f"queue;dur={1000 * timings.queue:.2f}, tokenize;dur={1000 * timings.tokenize:.2f}, "
        f"decode;dur={1000 * timings.decode:.2f}, detokenize;dur={1000 * timings.detokenize:.2f}"
    )
