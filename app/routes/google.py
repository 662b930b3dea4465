"""Google's dialects: Cloud Translation, version 2, and the routes that browser extensions call."""

from collections.abc import Callable
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from app.accounts.clients import Client
from app.languages.served import Languages, language_name
from app.routes.handling.body import Form
from app.routes.handling.charging import spend, translated
from app.routes.handling.dependencies import ReadyRuntime, SentParameters, client_of, held_runtime
from app.routes.handling.responses import languages_response
from app.routes.handling.routing import F, Router
from app.translation.answers import TranslateAnswer
from app.wire.dialects import google as wire
from app.wire.openapi import errors_in, query_parameters, request_body

router = Router(tags=["Google"])
_ERRORS = errors_in(wire.GoogleError, 400, 401, 403, 413, 415, 429, 500, 503, 504)


def _route(path: str, *required: str, **options: Any) -> Callable[[F], F]:
    """Register POST, and GET with the parameters in the query."""

    def register(endpoint: F) -> F:
        query = {"openapi_extra": query_parameters(*required)}
        router.get(path, name=f"get_{endpoint.__name__}", **options | query)(endpoint)
        return router.post(path, **options)(endpoint)

    return register


def _client(request: Request, parameters: Form) -> Client:
    return client_of(request, request.headers.get("x-goog-api-key") or parameters.get("key"))


@_route(
    "/language/translate/v2",
    "q",
    "target",
    response_model=wire.GoogleAnswer,
    openapi_extra=request_body(wire.GoogleRequest, form=wire.GoogleRequest),
    responses=_ERRORS,
)
async def google_translate(request: Request, parameters: SentParameters) -> Response:
    """Translate texts, each from its detected language unless one is given."""
    client = _client(request, parameters)
    parsed = wire.GoogleRequest.parse(parameters)
    translation, _ = await translated(request, client, parsed.native().to_pipeline())
    answer = wire.GoogleAnswer.of(parsed, translation)
    return Response(answer.model_dump_json(exclude_none=True), media_type="application/json")


@_route(
    "/language/translate/v2/detect",
    "q",
    openapi_extra=request_body(wire.GoogleDetectRequest, form=wire.GoogleDetectRequest),
    responses=_ERRORS,
)
async def google_detect(request: Request, parameters: SentParameters) -> wire.GoogleDetectAnswer:
    """Detect the language of each text."""
    client = _client(request, parameters)
    texts = wire.GoogleDetectRequest.parse(parameters).q
    spend(request, client, sum(map(len, texts)))
    return wire.GoogleDetectAnswer.of(await held_runtime(request).service.detect(texts))


@_route(
    "/language/translate/v2/languages",
    response_model=wire.GoogleLanguagesAnswer,
    response_model_exclude_none=True,
    responses=_ERRORS,
)
async def google_languages(
    request: Request, runtime: ReadyRuntime, parameters: SentParameters
) -> Response:
    """The languages of the server, with names in English if `target` is given."""
    _client(request, parameters)
    with_names = wire.GoogleLanguagesRequest.parse(parameters).target is not None
    return languages_response(_named if with_names else _codes, runtime.service.languages)


def _named(languages: Languages) -> wire.GoogleLanguagesAnswer:
    return wire.GoogleLanguagesAnswer.of(
        [wire.GoogleLanguage(language=code, name=language_name(code)) for code in languages.codes]
    )


def _codes(languages: Languages) -> wire.GoogleLanguagesAnswer:
    return wire.GoogleLanguagesAnswer.of(
        [wire.GoogleLanguage(language=code) for code in languages.codes]
    )


async def _web(
    request: Request,
    parameters: Form,
    answer: Callable[[wire.WebRequest, TranslateAnswer], Any],
) -> JSONResponse:
    client = _client(request, parameters)
    parsed = wire.WebRequest.parse(parameters)
    translation, _ = await translated(request, client, parsed.native().to_pipeline())
    return JSONResponse(answer(parsed, translation))


@_route("/translate_a/single", "q", "tl", responses=_ERRORS)
async def google_single(request: Request, parameters: SentParameters) -> Response:
    """Translate a text, as extensions ask Google's web page."""
    return await _web(request, parameters, wire.WebRequest.single)


@_route("/translate_a/t", "q", "tl", responses=_ERRORS)
async def google_texts(request: Request, parameters: SentParameters) -> Response:
    """Translate texts, as extensions ask Google's web page."""
    return await _web(request, parameters, wire.WebRequest.texts)
