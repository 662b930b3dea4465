"""OpenAI's dialect: a chat that answers with translations."""

import json
from http import HTTPStatus

from fastapi import HTTPException, Request, Response
from fastapi.responses import JSONResponse

from app.languages.served import Languages
from app.routes.handling.charging import streamed, translated
from app.routes.handling.dependencies import (
    KnownClient,
    ReadyRuntime,
    SentParameters,
    held_runtime,
)
from app.routes.handling.responses import languages_response
from app.routes.handling.routing import Router
from app.wire.dialects import openai as wire
from app.wire.failures import error_body
from app.wire.openapi import errors_in, request_body
from app.wire.problems import kind_of

router = Router(tags=["OpenAI"])


class ChatStream(wire.Chat):
    """A response in chunks."""

    def error(self, error: Exception, _: Request) -> bytes:
        """Write an error within the stream."""
        body = error_body(error, "openai", kind_of(error).status)
        return b"data: %b\n\n" % json.dumps(body).encode()


_ERRORS = errors_in(wire.OpenAIError, 400, 401, 403, 413, 415, 429, 500, 503, 504)


@router.post(
    "/v1/chat/completions", openapi_extra=request_body(wire.ChatRequest), responses=_ERRORS
)
async def chat_completions(
    request: Request, client: KnownClient, parameters: SentParameters
) -> Response:
    """Translate the last message of the user to the language that the system message names."""
    parsed = wire.ChatRequest.parse(parameters)
    targets = held_runtime(request).service.languages.targets
    translation = parsed.native(targets).to_pipeline()
    if parsed.stream:
        stream = ChatStream(parsed.model, parsed.stream_options.include_usage)
        return await streamed(request, client, translation, stream)
    answer, _ = await translated(request, client, translation)
    return JSONResponse(wire.Chat(parsed.model).answer(answer))


@router.get("/v1/models", response_model=wire.OpenAIModels, responses=_ERRORS)
async def openai_models(_: KnownClient, runtime: ReadyRuntime) -> Response:
    """A model for any target, and one for each."""
    return languages_response(_models, runtime.service.languages)


@router.get(
    "/v1/models/{model}",
    response_model=wire.OpenAIModel,
    responses=_ERRORS | errors_in(wire.OpenAIError, 404),
)
async def openai_model(model: str, _: KnownClient, runtime: ReadyRuntime) -> Response:
    """A model by its name."""
    found = [one for one in _models(runtime.service.languages).data if one.id == model]
    if not found:
        raise HTTPException(HTTPStatus.NOT_FOUND, "no such model; GET /v1/models lists them")
    return JSONResponse(found[0].model_dump())


def _models(languages: Languages) -> wire.OpenAIModels:
    return wire.OpenAIModels.of(languages.targets)
