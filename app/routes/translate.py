"""POST /translate and /detect: the native dialect, and LibreTranslate's on the same paths.

`text` selects the native dialect, `q` LibreTranslate's.
"""

from collections.abc import Set
from functools import cache

from fastapi import Request, Response

from app.errors import InvalidRequestError
from app.languages.detection import DetectedLanguage
from app.routes import libretranslate
from app.routes.handling.body import Body, Form, gather
from app.routes.handling.charging import spend, streamed, translated
from app.routes.handling.dependencies import CurrentSettings, client_of, held_runtime
from app.routes.handling.responses import timed_response
from app.routes.handling.routing import PlainRoute, Router
from app.settings import Settings
from app.wire.dialects.libretranslate import (
    LibreTranslateDetected,
    LibreTranslateDetectRequest,
    LibreTranslateRequest,
)
from app.wire.failures import REQUIRED, set_dialect
from app.wire.native.fields import WireRequest
from app.wire.native.requests import DetectRequest, TranslateRequest
from app.wire.openapi import EXAMPLES, SHARED_PATH_ERRORS, TRANSLATE_ANSWERS, request_body

router = Router(tags=["translation"], route_class=PlainRoute)
detect_router = Router(tags=["translation"])


@router.post(
    "/translate",
    openapi_extra=request_body(
        TranslateRequest,
        LibreTranslateRequest,
        form=LibreTranslateRequest,
        examples=EXAMPLES["translate_request"],
    ),
    responses=TRANSLATE_ANSWERS,
)
async def translate(request: Request) -> Response:
    """Translate one text or many, optionally as a stream; with `q` instead of `text`, as
    LibreTranslate does."""
    settings: Settings = request.app.state.settings
    body = await read_either(request, settings.max_body_bytes, TranslateRequest)
    if isinstance(body, LibreTranslateForm):
        return await libretranslate.translate(request, body)
    client = client_of(request)
    parsed = TranslateRequest.parse(body)
    translation = parsed.to_pipeline()
    if parsed.stream:
        return await streamed(request, client, translation)
    answer, timings = await translated(request, client, translation)
    return await timed_response(answer, timings)


@detect_router.post(
    "/detect",
    openapi_extra=request_body(
        DetectRequest,
        LibreTranslateDetectRequest,
        form=LibreTranslateDetectRequest,
        examples=EXAMPLES["detect_request"],
    ),
    responses=SHARED_PATH_ERRORS,
)
async def detect(
    request: Request, settings: CurrentSettings
) -> list[list[DetectedLanguage]] | list[LibreTranslateDetected]:
    """Detect the languages of each text, best first; for a single text, a list of one.

    With `q` instead of `text`, as LibreTranslate does: one list, also for several texts.
    """
    body = await read_either(request, settings.max_body_bytes, DetectRequest)
    if isinstance(body, LibreTranslateForm):
        return await libretranslate.detect(request, body)
    client = client_of(request)
    parsed = DetectRequest.parse(body)
    spend(request, client, sum(map(len, parsed.text)))
    return await held_runtime(request).service.detect(parsed.text)


class LibreTranslateForm(Form):
    """The fields of a LibreTranslate request, from its body or query string."""


async def read_either(
    request: Request, max_bytes: int, model: type[WireRequest]
) -> LibreTranslateForm | object:
    """Read the request and set the dialect of its errors; return a native request's JSON as it is.

    A form selects LibreTranslate's, and so does `q` in the object or query string, unless the
    object has `text`. With neither, a field that only `model`, the native request, has selects the
    native one; else the error is in both forms. Raises as `Body.read`, `Body.json`, `Body.form`,
    `client_of`, and `InvalidRequestError`.
    """
    body = await Body.read(request, max_bytes)
    query = gather(request.query_params.multi_items()) if request.scope["query_string"] else {}
    if not body.is_form and "q" not in query:  # `curl -d '{…}'` declares a form
        set_dialect(request, "native" if b'"text"' in body.content else "undecided")
    value: object = {}
    if body.is_form:
        value = await body.form()
    elif body.content.strip():
        value = await body.json()
    if isinstance(value, dict):
        if body.is_form or (("q" in query or "q" in value) and "text" not in value):
            set_dialect(request, "libretranslate")
            return LibreTranslateForm(query | value)
        if not _only_native(model).isdisjoint(value):
            set_dialect(request, "native")
            return value
    set_dialect(request, "undecided")
    client_of(request)  # only holders of a key learn more
    expected = "" if isinstance(value, dict) else "; the body should be a JSON object"
    raise InvalidRequestError.at("/text", f"{REQUIRED}{expected}")


@cache
def _only_native(model: type[WireRequest]) -> Set[str]:
    return model.model_fields.keys() - LibreTranslateRequest.model_fields.keys()
