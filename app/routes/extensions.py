"""The dialects of browser extensions, which send a key as `token` in the query, and DeepLX's."""

from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse

from app.accounts.clients import Client
from app.routes.handling.body import Form
from app.routes.handling.charging import spend, translated
from app.routes.handling.dependencies import SentParameters, client_of, held_runtime
from app.routes.handling.routing import Router
from app.wire.dialects import extensions as wire
from app.wire.openapi import errors_in, request_body

router = Router(tags=["extensions"])
_ERRORS = errors_in(wire.ExtensionError, 400, 401, 403, 413, 415, 429, 500, 503, 504)


def _client(request: Request, parameters: Form) -> Client:
    return client_of(request, parameters.get("token"))


async def _translate(
    request: Request,
    parameters: Form,
    kind: type[wire.ImmersiveRequest | wire.KissRequest | wire.DeepLXRequest],
) -> JSONResponse:
    client = _client(request, parameters)
    parsed = kind.parse(parameters)
    translation, _ = await translated(request, client, parsed.native().to_pipeline())
    return JSONResponse(parsed.answer(translation))


def _described(kind: type[Any]) -> dict[str, Any]:
    return {"openapi_extra": request_body(kind), "responses": _ERRORS}


@router.post("/imme", **_described(wire.ImmersiveRequest))
async def immersive_translate(request: Request, parameters: SentParameters) -> JSONResponse:
    """Translate texts for Immersive Translate."""
    return await _translate(request, parameters, wire.ImmersiveRequest)


@router.post("/kiss", **_described(wire.KissRequest))
async def kiss_translator(request: Request, parameters: SentParameters) -> JSONResponse:
    """Translate a text, or several, for Kiss Translator."""
    return await _translate(request, parameters, wire.KissRequest)


@router.post("/deeplx", **_described(wire.DeepLXRequest))
@router.post("/deeplx/translate", include_in_schema=False, name="deeplx_translate")
async def deeplx(request: Request, parameters: SentParameters) -> JSONResponse:
    """Translate a text for clients of DeepLX."""
    return await _translate(request, parameters, wire.DeepLXRequest)


@router.post("/hcfy", **_described(wire.HcfyRequest))
async def hcfy(request: Request, parameters: SentParameters) -> JSONResponse:
    """Translate a text for Hua Ci Fan Yi."""
    client = _client(request, parameters)
    parsed = wire.HcfyRequest.parse(parameters)
    service = held_runtime(request).service
    detected = None
    if not parsed.source:
        spend(request, client, len(parsed.text))
        candidates = (await service.detect([parsed.text]))[0]
        detected = candidates[0].language if candidates else None
    names = wire.chinese_names(service.languages.codes)
    codes = {name: code for code, name in names.items()}
    native = parsed.native(codes, detected)
    translation, _ = await translated(request, client, native.to_pipeline())
    return JSONResponse(parsed.answer(translation, names))
