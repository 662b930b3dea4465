"""HTTP connections with a time and a size for everything that a client sends.

uvicorn has neither for headers and bodies on their way: a client that sends a byte now and then
would keep its connection for ever, and no middleware sees a request before its headers are there.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope
from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from app.server.gate import Gate, Refusal, admit_all
from app.server.security_headers import OF_DATA
from app.wire.problems import problem_response

MAX_HEAD_BYTES = 65_536
"""Of a request line and headers that are not complete yet."""

MIN_RATE = 20_000
"""Bytes a second at which a body gets as much time again: a large file on a slow line."""

Phase = Literal["head", "body", "none"]
"""What of a request is to come. Between two requests, none."""


@dataclass(frozen=True)
class ConnectionLimits:
    """Seconds for the headers and for the body of a request; connections at a time."""

    head_timeout: float
    body_timeout: float
    max_connections: int


class Connections(ServerState):
    """What the connections of a server share.

    gate        of the application
    incomplete  those that have no complete request, the one that has waited longest first
    """

    def __init__(self, limits: ConnectionLimits, refusal: Refusal = admit_all) -> None:
        super().__init__()
        self.limits = limits
        self.gate = Gate(refusal)
        self.incomplete: dict[TimedProtocol, None] = {}


class TimedProtocol(HttpToolsProtocol):
    """One connection. The time for headers counts from its opening, or from their first byte.

    Where there are too many connections, the one that has waited longest for its request to be
    complete makes room for the newcomer, so that neither slow nor idle clients shut out probes.
    """

    server_state: Connections

    def __init__(
        self,
        config: Config,
        server_state: Connections,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._phase: Phase = "head"
        self._n_requests = 0
        self._head_bytes = 0
        self._body_bytes = 0
        self._watched: tuple[Phase, int] = "none", 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Too many: the one that has waited longest goes."""
        super().connection_made(transport)
        state = self.server_state
        if len(state.connections) > state.limits.max_connections:
            if not state.incomplete:
                self._refuse(503, "there are too many connections")
                return
            next(iter(state.incomplete)).give_way()
        state.incomplete[self] = None
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        super().connection_lost(exc)
        self.server_state.incomplete.pop(self, None)
        self._stop_timer()

    def give_way(self) -> None:
        """Close without an answer."""
        self.server_state.incomplete.pop(self, None)
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Some of a request, or several."""
        super().data_received(data)
        if self._phase == "body":
            self._body_bytes += len(data)
        if self._phase == "head":
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(431, "the headers are too large")
                return
        self._watch()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._phase = "head"
        self._n_requests += 1

    def on_headers_complete(self) -> None:
        """All but the body is there."""
        self._phase = "body"
        self._head_bytes = self._body_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """All is there."""
        self._phase = "none"
        self._body_bytes = 0
        self.server_state.incomplete.pop(self, None)
        if self.cycle and self.cycle.response_complete:  # without a look at the body
            self._is_idle()
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Have the application answer, or refuse, which is so cheap that a flood is bearable."""
        begin = partial(super()._start_asgi_task, cycle, app)
        if cycle is not self.cycle:  # one in a pipeline, but the last: they call one another
            begin()
            return
        refusal = self.server_state.gate.enter(cast("Scope", cycle.scope), begin)
        if refusal is None:
            return
        cycle.response_started = cycle.response_complete = True
        self._write(refusal, close=not cycle.keep_alive)
        self.on_response_complete()

    def on_response_complete(self) -> None:
        """Answered; the next request may come, or has."""
        super().on_response_complete()
        if self._phase == "none" and not self.pipeline:
            self._is_idle()

    def _is_idle(self) -> None:
        """Neither a request nor an answer is on its way."""
        if self.transport.is_closing():
            return
        self.server_state.incomplete[self] = None
        if self.timeout_keep_alive_task is None:  # uvicorn forgets it where a body came later
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP gets a problem document, as everything that goes wrong."""
        self._refuse(400, msg)

    def _watch(self) -> None:
        """Have the timer run for what is to come, if anything is."""
        awaited = self._phase, self._n_requests
        if awaited == self._watched:
            return
        self._watched = awaited
        self._stop_timer()
        if self._phase != "none":
            self._start_timer()

    def _start_timer(self) -> None:
        limits = self.server_state.limits
        seconds = limits.head_timeout if self._phase == "head" else limits.body_timeout
        self._timer = self.loop.call_later(seconds, self._too_late)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        if self.transport.is_closing():
            return
        if self.pipeline or self.flow.read_paused:  # it is we who do not read
            self._start_timer()
        elif self._body_bytes >= MIN_RATE * self.server_state.limits.body_timeout:
            self._body_bytes = 0
            self._start_timer()
        elif self._phase == "head" and not self._head_bytes:
            self.transport.close()  # opened, and never used
        else:
            self._refuse(
                408, f"the {'headers' if self._phase == 'head' else 'body'} came too slowly"
            )

    def _refuse(self, status: int, detail: str) -> None:
        """Answer, unless an answer is on its way, and close."""
        self._stop_timer()
        if self._phase == "body" and self.cycle.response_started:
            self.transport.close()
        else:
            error = HTTPException(status, detail)
            self._write(problem_response(error, uuid.uuid4().hex), close=True)

    def _write(self, answer: Response, *, close: bool) -> None:
        """A whole answer, of no application."""
        lines = [STATUS_LINE[answer.status_code]]
        for name, value in (
            *self.server_state.default_headers, *answer.raw_headers, *OF_DATA,
        ):  # fmt: skip
            lines += [name, b": ", value, b"\r\n"]
        lines += [b"connection: close\r\n\r\n" if close else b"\r\n", bytes(answer.body)]
        self.transport.write(b"".join(lines))
        if close:
            self.transport.close()
