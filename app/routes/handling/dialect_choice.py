"""Selects the dialect on shared paths: `text` for the native one, `q` for LibreTranslate's."""

from __future__ import annotations

from collections.abc import Set
from functools import cache

from fastapi import Request

from app.errors import InvalidRequestError
from app.routes.handling.body import Body, Form, gather, read_body
from app.routes.handling.dependencies import client_of
from app.wire.dialects.error_messages import REQUIRED
from app.wire.dialects.libretranslate import LibreTranslateRequest
from app.wire.failures import set_dialect
from app.wire.native.request import WireRequest


class LibreTranslateForm(Form):
    """The fields of a LibreTranslate request, from its body or query string."""


async def read_either(
    request: Request, max_bytes: int, model: type[WireRequest]
) -> LibreTranslateForm | object:
    """Read the request and set the dialect of its errors; return a native request's JSON as it is.

    A form selects LibreTranslate's, and so does `q` in the object or query string, unless the
    object has `text`. With neither, a field that only `model`, the native request, has selects the
    native one; else the error is in both forms. Raises as `read_body`, `Body.json`, `Body.form`,
    `client_of`, and `InvalidRequestError`.
    """
    body = Body(await read_body(request, max_bytes), request.headers)
    query = gather(request.query_params.multi_items()) if request.scope["query_string"] else {}
    if not body.is_form and "q" not in query:
        set_dialect(request, "undecided")
    value: object = {}
    if body.is_form:
        value = await body.form()
    elif body.content.strip():
        value = body.json()
    if isinstance(value, dict):
        if body.is_form or (("q" in query or "q" in value) and "text" not in value):
            set_dialect(request, "libretranslate")
            return LibreTranslateForm(query | value)
        if not _only_native(model).isdisjoint(value):
            set_dialect(request, "native")
            return value
    set_dialect(request, "undecided")
    client_of(request)  # only holders of a key learn more
    raise InvalidRequestError.at("/text", f"{REQUIRED}, in an object")


@cache
def _only_native(model: type[WireRequest]) -> Set[str]:
    return model.model_fields.keys() - LibreTranslateRequest.model_fields.keys()
