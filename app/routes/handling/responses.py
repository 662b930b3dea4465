"""Responses of the native dialect: JSON, or `text/event-stream`, while the client is connected."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Any, Protocol, TypeVar

from fastapi import Request, Response
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from pydantic_core import to_json
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from app.concurrency.threads import in_thread
from app.languages.served import Languages
from app.observe.logs import log_failure
from app.observe.metrics import CLIENT_GONE
from app.observe.timings import Timings
from app.translation.answers import Event, ScoreAnswer, TokenEvent, TranslateAnswer
from app.wire.native.answers import as_json
from app.wire.problems import kind_of, problem_response

T = TypeVar("T")


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Await `work`, cancelling it if the client disconnects; the body must already be read.

    Raises `ClientDisconnect`.
    """
    working = asyncio.current_task()
    has_left = is_over = False

    def end(_: asyncio.Task[None]) -> None:
        nonlocal has_left
        if working and not is_over:  # a scheduled callback cannot be withdrawn
            has_left = True
            working.cancel()

    async def wait_for_disconnect() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    leaving = asyncio.create_task(wait_for_disconnect())
    leaving.add_done_callback(end)
    try:
        return await work
    except asyncio.CancelledError:
        if working and has_left:
            working.uncancel()
            raise ClientDisconnect from None
        raise
    finally:
        is_over = True
        leaving.cancel()


MAX_KEPT = 16
"""Lists of languages that are kept as JSON: of some dialects, before and after a reload."""


def languages_response(make: Callable[[Languages], object], languages: Languages) -> Response:
    """Return what `make`, a function of a module, lists of these languages, as JSON that is made
    once: 200 languages have 40,000 pairs, which take 60 ms."""
    return Response(_kept_json(make, languages), media_type="application/json")


@lru_cache(MAX_KEPT)
def _kept_json(make: Callable[[Languages], object], languages: Languages) -> bytes:
    return to_json(make(languages), exclude_none=True)


MAX_INLINE_TOKENS = 2000
"""Tokens of a response that is written in the event loop, which takes some milliseconds with
attention. A larger one would take up to a second."""


async def answer_json(answer: TranslateAnswer | ScoreAnswer) -> bytes:
    """Return a response as JSON, without the members that are not set."""
    n_tokens = answer.usage.source_tokens + answer.usage.target_tokens
    if n_tokens <= MAX_INLINE_TOKENS:
        return as_json(answer)
    return await in_thread(partial(as_json, answer))


async def timed_response(answer: TranslateAnswer | ScoreAnswer, timings: Timings) -> Response:
    """Return a response with the header Server-Timing: milliseconds per stage.

    An engine runs encoder and decoder as one; both count as decode.
    """
    timing = (
        f"queue;dur={1000 * timings.queue:.2f}, tokenize;dur={1000 * timings.tokenize:.2f}, "
        f"decode;dur={1000 * timings.decode:.2f}, detokenize;dur={1000 * timings.detokenize:.2f}"
    )
    body = await answer_json(answer)
    return Response(body, media_type="application/json", headers={"Server-Timing": timing})


KEEP_ALIVE = 15.0
"""Seconds without an event after which a comment is sent, so that proxies do not time out."""

MAX_UNSENT = 256
"""Events of a stream that may wait for its client before its work pauses."""


class Unsent:
    """The events of a stream that its client has not taken yet, and None after the last.

    started  whether there was an event
    """

    def __init__(self) -> None:
        self.started = False
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._has_space = asyncio.Event()
        self._has_space.set()

    def put(self, event: Event | None) -> None:
        self.started = True
        self._events.put_nowait(event)
        if self._events.qsize() >= MAX_UNSENT:
            self._has_space.clear()

    async def drain(self) -> None:
        """Wait while there are too many."""
        await self._has_space.wait()

    async def get(self) -> Event | str | None:
        """Return the next event; None after the last; a string after a timeout."""
        try:
            async with asyncio.timeout(KEEP_ALIVE):
                event = await self._events.get()
        except TimeoutError:
            return "wait"
        if self._events.qsize() < MAX_UNSENT:
            self._has_space.set()
        return event


class Encoding(Protocol):
    """How a stream's parts are written, each as the lines of events."""

    def event(self, event: Event) -> bytes:
        """Write a part of the response; may be empty."""

    async def done(self, answer: TranslateAnswer) -> bytes:
        """Write the result."""

    def error(self, error: Exception, request: Request) -> bytes:
        """Write an error after the first event."""


class NativeEncoding:
    """The events `token`, `segment`, `done` and `error`."""

    def event(self, event: Event) -> bytes:
        name = "token" if isinstance(event, TokenEvent) else "segment"
        return _event(name, as_json(event))

    async def done(self, answer: TranslateAnswer) -> bytes:
        return _event("done", await answer_json(answer))

    def error(self, error: Exception, request: Request) -> bytes:
        return _event("error", bytes(problem_response(error, request.state.request_id).body))


_BREAKS = {ord(one): f"\\u{ord(one):04x}" for one in "\x85\u2028\u2029"}
"""Line breaks of Unicode, escaped: some clients, such as httpx, end a line of a stream at them."""


def _event(name: str, data: bytes) -> bytes:
    return format_sse_event(event=name, data_str=data.decode().translate(_BREAKS))


async def event_stream(
    request: Request,
    work: Callable[[Unsent], Coroutine[Any, Any, TranslateAnswer]],
    encoding: Encoding,
) -> Response:
    """Return a response that streams the events of the work and then its result.

    An error before the first event is raised, so that it sets the status; later it is an event. The
    work is cancelled if the client disconnects.
    """
    events = Unsent()
    working = asyncio.create_task(work(events))
    working.add_done_callback(lambda _: events.put(None))
    try:
        first = await while_connected(request, events.get())
        if first is None and not working.cancelled() and (error := working.exception()):
            raise error
    except BaseException:
        working.cancel()
        raise
    return _Stream(first, events, working, request, encoding)


class _Stream(EventSourceResponse):
    def __init__(
        self,
        first: Event | str | None,
        events: Unsent,
        working: asyncio.Task[TranslateAnswer],
        request: Request,
        encoding: Encoding,
    ) -> None:
        super().__init__(self._lines(first))
        self.headers["Cache-Control"] = "no-cache"
        self.headers["X-Accel-Buffering"] = "no"  # nginx would buffer the events until the end
        self._events = events
        self._working = working
        self._request = request
        self._encoding = encoding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
            if not self._working.done():
                self._request.state.failure = CLIENT_GONE  # for the metrics
        finally:  # whether completed, aborted or never started
            self._working.cancel()

    async def _lines(self, first: Event | str | None) -> AsyncIterator[bytes]:
        event = first
        while event is not None:
            if isinstance(event, str):
                yield KEEPALIVE_COMMENT
            elif lines := self._encoding.event(event):
                yield lines
            event = await self._events.get()
        yield await self._last()

    async def _last(self) -> bytes:
        error = self._working.exception()
        if error is None:
            return await self._encoding.done(self._working.result())
        if not isinstance(error, Exception):
            raise error
        kind = kind_of(error)
        self._request.state.failure = kind.slug  # for the metrics
        if kind.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            log_failure(error)
        return self._encoding.error(error, self._request)
