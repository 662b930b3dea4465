"""Translates and charges the client's account, in any dialect."""

import re
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from fastapi import Request, Response

from app.accounts.clients import Client, RateLimit
from app.accounts.usage_ledger import UsageLedger
from app.errors import InvalidRequestError
from app.observe.timings import Timings
from app.observe.tracing import record_stages
from app.routes.handling.dependencies import held_runtime
from app.routes.handling.responses import (
    Encoding,
    NativeEncoding,
    Unsent,
    event_stream,
    while_connected,
)
from app.runtime import Runtime
from app.translation.answers import TranslateAnswer
from app.translation.requests import TranslationRequest

TIMEOUT_HEADER = "X-Request-Timeout"
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")

T = TypeVar("T")


async def charged(
    request: Request,
    client: Client,
    n_characters: int,
    work: Callable[[Runtime, float | None], Coroutine[Any, Any, T]],
) -> T:
    """Do work with a deadline, and count its characters on success. The body must already be read.

    `work` gets the models, held, and the request's timeout in seconds. Raises as `held_runtime`,
    `timeout_of`, `spend`, `UsageLedger.charge`, `while_connected` and the work.
    """
    ledger: UsageLedger = request.app.state.ledger
    runtime = held_runtime(request)
    timeout = timeout_of(request)
    spend(request, client, n_characters)
    with ledger.charge(client.account, n_characters):
        return await while_connected(request, work(runtime, timeout))


async def translated(
    request: Request, client: Client, translation: TranslationRequest
) -> tuple[TranslateAnswer, Timings]:
    """Return the response. Raises as `charged` and the service."""
    answer, timings = await charged(
        request,
        client,
        sum(map(len, translation.texts)),
        lambda runtime, timeout: runtime.service.translate(
            translation, client.turn, timeout=timeout
        ),
    )
    record_stages(request.app.state.tracer, timings)
    return answer, timings


async def streamed(
    request: Request,
    client: Client,
    translation: TranslationRequest,
    encoding: Encoding = NativeEncoding(),  # noqa: B008  (it has no state)
) -> Response:
    """Return the response as a stream of events; its characters count from the first event on.

    Raises as `translated`, before the first event.
    """
    ledger: UsageLedger = request.app.state.ledger
    service = held_runtime(request).service
    timeout = timeout_of(request)
    spend(request, client, sum(map(len, translation.texts)))

    async def work(events: Unsent) -> TranslateAnswer:
        with ledger.charge(client.account, sum(map(len, translation.texts))):
            try:
                answer, timings = await service.translate(translation, client.turn, events, timeout)
            except BaseException as error:
                if not events.started:
                    raise
                failure = error
            else:
                record_stages(request.app.state.tracer, timings)
                return answer
        try:
            raise failure
        finally:  # the traceback refers to this frame: avoid a reference cycle
            del failure

    return await event_stream(request, work, encoding)


def spend(request: Request, client: Client, n_characters: int) -> None:
    """Charge the client's rate limits. Raises `RateLimitedError`."""
    limits: tuple[RateLimit, RateLimit] = request.app.state.rate_limits
    requests, characters = limits
    requests.take(client.turn, 1)
    characters.take(client.turn, n_characters)


def timeout_of(request: Request) -> float | None:
    """Return the seconds that the client sets, if any. Raises `InvalidRequestError`."""
    given = request.headers.get(TIMEOUT_HEADER)
    if given is None:
        return None
    seconds = float(given) if _SECONDS.fullmatch(given) else 0.0
    if not 0 < seconds < float("inf"):
        detail = f"The header {TIMEOUT_HEADER} should be a number of seconds, such as 30 or 0.5"
        raise InvalidRequestError.at("", detail)
    return seconds
