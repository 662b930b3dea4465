"""Responses as bytes, for those that are sent without calling the application."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus

from starlette.responses import Response

_STATUS_LINES = {
    status: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}


def to_bytes(response: Response, headers: Iterable[tuple[bytes, bytes]], *, close: bool) -> bytes:
    """Encode a complete response, with more headers, as HTTP/1.1."""
    lines = [_STATUS_LINES[HTTPStatus(response.status_code)]]
    for name, value in (*response.raw_headers, *headers):
        lines += [name, b": ", value, b"\r\n"]
    lines += [b"connection: close\r\n\r\n" if close else b"\r\n", bytes(response.body)]
    return b"".join(lines)
