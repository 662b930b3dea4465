"""Responses as `text/event-stream`: stable parts early, then the whole response or an error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from http import HTTPStatus
from typing import Any, TypeAlias

from fastapi import Request, Response
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from starlette.types import Receive, Scope, Send

from app.observe.logs import log_failure
from app.routes.handling.disconnect import while_connected
from app.routes.handling.json_response import answer_json
from app.translation.answers import Event, Events, TokenEvent, TranslateAnswer
from app.wire.native.answers import as_json
from app.wire.problems import kind_of, problem_response

KEEP_ALIVE = 15.0
"""Seconds without an event after which a comment is sent, so that proxies do not time out."""

MAX_UNSENT = 256
"""Events of a stream that may wait for its client before its work pauses."""

Work: TypeAlias = Callable[[Events], Coroutine[Any, Any, TranslateAnswer]]
"""Receives what takes its events, and returns the response."""


class Unsent:
    """The events of a stream that its client has not taken yet, and None behind the last."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._has_space = asyncio.Event()
        self._has_space.set()

    def put(self, event: Event | None) -> None:
        """Append an event, or the end."""
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


async def event_stream(request: Request, work: Work) -> Response:
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
    return _Stream(first, events, working, request)


class _Stream(EventSourceResponse):
    def __init__(
        self,
        first: Event | str | None,
        events: Unsent,
        working: asyncio.Task[TranslateAnswer],
        request: Request,
    ) -> None:
        super().__init__(self._lines(first))
        self.headers["Cache-Control"] = "no-cache"
        self.headers["X-Accel-Buffering"] = "no"  # nginx would buffer the events until the end
        self._events = events
        self._working = working
        self._request = request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:  # whether completed, aborted or never started
            self._working.cancel()

    async def _lines(self, first: Event | str | None) -> AsyncIterator[bytes]:
        event = first
        while event is not None:
            if isinstance(event, str):
                yield KEEPALIVE_COMMENT
            else:
                name = "token" if isinstance(event, TokenEvent) else "segment"
                yield format_sse_event(event=name, data_str=as_json(event).decode())
            event = await self._events.get()
        yield await self._last()

    async def _last(self) -> bytes:
        error = self._working.exception()
        if error is None:
            answer = await answer_json(self._working.result())
            return format_sse_event(event="done", data_str=answer.decode())
        if not isinstance(error, Exception):
            raise error
        kind = kind_of(error)
        self._request.state.failure = kind.slug  # for the metrics
        if kind.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            log_failure(error)
        problem = bytes(problem_response(error, self._request.state.request_id).body)
        return format_sse_event(event="error", data_str=problem.decode())
