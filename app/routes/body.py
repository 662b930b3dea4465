"""A request's body: bounded, and JSON."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import NoReturn

from fastapi import HTTPException, Request

from app.errors import MalformedJsonError

FORM = "application/x-www-form-urlencoded"


async def read_json(request: Request, max_bytes: int) -> object:
    """The body as JSON. Raises `HTTPException` 413 and 415, `MalformedJsonError`.

    Read as JSON: application/json, …+json, a body without a type, and what `curl -d '{…}'` sends,
    which calls itself a form but begins like an object.
    """
    body = await _read(request, max_bytes)
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = media_type in ("", "application/json") or (
        media_type.startswith("application/") and media_type.endswith("+json")
    )
    if not is_json and not (media_type == FORM and body.lstrip()[:1] == b"{"):
        raise HTTPException(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body should be application/json",
            headers={"Accept-Post": "application/json"},
        )  # fmt: skip
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except ValueError as error:
        raise MalformedJsonError(_reason(error)) from None
    except RecursionError:
        raise MalformedJsonError("the body is nested too deeply") from None


def _reason(error: ValueError) -> str:
    """What is wrong and where, without a word of the body."""
    if isinstance(error, json.JSONDecodeError):
        return f"the body is not JSON: error at line {error.lineno}, column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f"the body is not UTF-8: error at byte {error.start}"
    return "the body is not JSON: a number is not one, or has too many digits"


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError


async def _read(request: Request, max_bytes: int) -> bytes:
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > max_bytes:
        raise _too_large(max_bytes)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
    return bytes(body)


def _too_large(max_bytes: int) -> HTTPException:
    return HTTPException(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have {max_bytes:,} bytes at most"
    )
