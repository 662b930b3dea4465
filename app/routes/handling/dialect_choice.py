"""Selects the dialect on shared paths: `text` for the native one, `q` for LibreTranslate's."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request

from app.routes.handling.body import Body, Form, gather, read_body
from app.wire.failures import set_dialect


@dataclass(frozen=True, slots=True)
class Native:
    """The body of a native request."""

    value: object


@dataclass(frozen=True, slots=True)
class LibreTranslate:
    """The fields of a LibreTranslate request, from its body or query string."""

    parameters: Form


async def read_either(request: Request, max_bytes: int) -> Native | LibreTranslate:
    """Read the request and set the dialect of its errors.

    A form selects LibreTranslate's, and so does `q` in the object or query string, unless the
    object has `text`. Raises as `read_body`, `Body.json` and `Body.form`.
    """
    body = Body(await read_body(request, max_bytes), request.headers)
    query = gather(request.query_params.multi_items())
    if not body.is_form and "q" not in query:
        set_dialect(request, "native")
    said = await _read(body, may_be_empty="q" in query)
    if isinstance(said, dict) and (body.is_form or _has_q(query | said)):
        set_dialect(request, "libretranslate")
        return LibreTranslate(query | said)
    set_dialect(request, "native")
    return Native(said)


def _has_q(said: Form) -> bool:
    return "q" in said and "text" not in said


async def _read(body: Body, *, may_be_empty: bool) -> object:
    if body.is_form:
        return await body.form()
    return {} if may_be_empty and not body.content else body.json()
