"""HTTP connections with a time and a size for everything that a client sends or should read.

uvicorn's public settings bound how long an idle connection is kept and how many requests are
answered at a time, and refuse with a text of their own. Headers and bodies on their way, answers
that nobody reads and idle connections beyond a number have no bound there, and no middleware sees
a request before its headers are there. A proxy may bound some of this (`deploy/haproxy`), but a
server without one has to stand as well. So uvicorn's protocol is extended, by what asyncio and
httptools define wherever that suffices. What is uvicorn's own is listed in
`tests/app/server/test_uvicorn.py`, and pyproject.toml has the range of versions.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Literal, cast

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Scope
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from app.server.gate import Gate, Refusal, admit_all
from app.server.security_headers import OF_DATA
from app.server.unread import MIN_RATE, UnreadAnswers
from app.wire.problems import problem_response

MAX_TARGET_BYTES = 60_000
"""Of a request's target: path and query. httptools reads no more than 65,535."""

MAX_HEAD_BYTES = 65_536
"""Of a request line and headers."""

_STATUS_LINES = {
    status: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}

LINGER = 1.0
"""Seconds in which the rest of what was refused is read and dropped. To close at once would have
the kernel reset the connection, and the client lose the answer that says why."""

Phase = Literal["head", "body", "none"]
"""What of a request is to come. Between two requests, none."""


@dataclass(frozen=True)
class ConnectionLimits:
    """Seconds for the headers and for the body of a request, and for a client to read its answer;
    connections at a time; bytes of answers that are not read yet, of all connections.
    """

    head_timeout: float
    body_timeout: float
    max_connections: int
    write_timeout: float = 30.0
    max_unsent_bytes: int = 256_000_000


class Connections(ServerState):
    """What the connections of a server share.

    gate        of the application
    incomplete  those that have no complete request, the one that has waited longest first
    unread      those whose clients do not read as fast as they are answered
    """

    def __init__(self, limits: ConnectionLimits, refusal: Refusal = admit_all) -> None:
        super().__init__()
        self.limits = limits
        self.gate = Gate(refusal)
        self.incomplete: dict[TimedProtocol, None] = {}
        self.unread = UnreadAnswers(limits.write_timeout, limits.max_unsent_bytes)


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
        self._n_unanswered = 0  # of those whose headers are complete
        self._target_bytes = 0
        self._head_bytes = 0
        self._body_bytes = 0
        self._n_received = 0  # bytes in the latest piece
        self._fault: tuple[int, str] | None = None  # found within the parser, which has to stop
        self._lingers = False
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
        self.server_state.unread.resumed(self.transport)
        self._stop_timer()

    def give_way(self) -> None:
        """Close without an answer."""
        self.server_state.incomplete.pop(self, None)
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Some of a request, or several."""
        if self._lingers:
            return
        self._n_received = len(data)
        super().data_received(data)
        if self._lingers:
            return
        if self._phase == "body":
            self._body_bytes += len(data)
        if self._phase == "head":
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(431, "the headers are too large", linger=True)
                return
        self._watch()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._phase = "head"
        self._n_requests += 1
        self._target_bytes = 0

    def on_url(self, url: bytes) -> None:
        """Some of the target."""
        self._target_bytes += len(url)
        if self._target_bytes > MAX_TARGET_BYTES:
            self._fault = 414, f"a URL may have {MAX_TARGET_BYTES:,} bytes at most"
            raise ValueError
        super().on_url(url)

    def on_headers_complete(self) -> None:
        """All but the body is there. Whatever this raises is answered as no HTTP."""
        if self._head_bytes + self._n_received > MAX_HEAD_BYTES:
            size = self._target_bytes + sum(len(name) + len(value) for name, value in self.headers)
            if size > MAX_HEAD_BYTES:
                self._fault = 431, "the headers are too large"
                raise ValueError
        self._n_unanswered += 1
        try:
            super().on_headers_complete()
        except Exception:
            self._n_unanswered -= 1
            self._fault = 400, "the target of the request cannot be read"
            raise
        self._phase = "body"
        self._head_bytes = self._body_bytes = 0

    def on_message_complete(self) -> None:
        """All is there."""
        self._phase = "none"
        self._body_bytes = 0
        self.server_state.incomplete.pop(self, None)
        if not self._n_unanswered:  # answered without a look at the body
            self._is_idle()
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGIApp) -> None:  # type: ignore[override]
        """Have the application answer, or refuse, which is so cheap that a flood is bearable.

        A refusal takes 34 µs of a core here, its socket included, and 51 µs as middleware.
        """
        begin = partial(super()._start_asgi_task, cycle, cast("Any", app))
        if cycle is not self.cycle:  # one in a pipeline, but the last: they call one another
            begin()
            return
        refusal = self.server_state.gate.enter(cast("Scope", cycle.scope), begin)
        if refusal is None:
            return
        cycle.response_started = cycle.response_complete = True
        self._write(refusal, close=not cycle.keep_alive, linger=True)
        self.on_response_complete()

    def on_response_complete(self) -> None:
        """Answered; the next request may come, or has."""
        self._n_unanswered -= 1
        super().on_response_complete()
        if self._phase == "none" and not self._n_unanswered:
            self._is_idle()

    def _is_idle(self) -> None:
        """Neither a request nor an answer is on its way; one that closes may not get that far."""
        self.server_state.incomplete[self] = None

    def pause_writing(self) -> None:
        """What is unsent is more than a transport should keep."""
        super().pause_writing()
        self.server_state.unread.paused(self.transport)

    def resume_writing(self) -> None:
        """Nearly all is sent."""
        super().resume_writing()
        self.server_state.unread.resumed(self.transport)

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP gets a problem document, as everything that goes wrong."""
        self._refuse(*(self._fault or (400, msg)), linger=True)

    def _watch(self) -> None:
        """Have the timer run for what is to come, if anything is."""
        awaited = self._phase, self._n_requests
        if awaited == self._watched:
            return
        self._watched = awaited
        self._stop_timer()
        # After a body that came behind its answer, uvicorn closes the connection at no time.
        if self._phase != "none" or not self._n_unanswered:
            self._start_timer()

    def _start_timer(self) -> None:
        limits = self.server_state.limits
        seconds = {
            "head": limits.head_timeout,
            "body": limits.body_timeout,
            "none": self.config.timeout_keep_alive,
        }[self._phase]
        self._timer = self.loop.call_later(seconds, self._too_late)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    @property
    def _has_earlier(self) -> bool:
        """Whether requests before the one that is coming are still to be answered."""
        return self._n_unanswered > (self._phase == "body")

    def _too_late(self) -> None:
        if self.transport.is_closing():
            return
        if self._has_earlier or not self.transport.is_reading():  # it is we who do not read
            self._start_timer()
        elif self._body_bytes >= MIN_RATE * self.server_state.limits.body_timeout:
            self._body_bytes = 0
            self._start_timer()
        elif self._phase == "none" or (self._phase == "head" and not self._head_bytes):
            self.transport.close()  # idle, or opened and never used
        else:
            self._refuse(
                408, f"the {'headers' if self._phase == 'head' else 'body'} came too slowly"
            )

    def _refuse(self, status: int, detail: str, *, linger: bool = False) -> None:
        """Answer, unless another answer is on its way or due before, and close."""
        self._stop_timer()
        if self._has_earlier or (self._phase == "body" and self.cycle.response_started):
            self.transport.close()
        else:
            error = HTTPException(status, detail)
            self._write(problem_response(error, uuid.uuid4().hex), close=True, linger=linger)

    def _write(self, answer: Response, *, close: bool, linger: bool) -> None:
        """A whole answer, of no application; who reads none of those before it gets no more.

        linger  where it closes, read what is still to come first
        """
        if self.transport in self.server_state.unread:
            self.transport.abort()
            return
        lines = [_STATUS_LINES[HTTPStatus(answer.status_code)]]
        for name, value in (
            *self.server_state.default_headers, *answer.raw_headers, *OF_DATA,
        ):  # fmt: skip
            lines += [name, b": ", value, b"\r\n"]
        lines += [b"connection: close\r\n\r\n" if close else b"\r\n", bytes(answer.body)]
        self.transport.write(b"".join(lines))
        if close and linger:
            self._linger()
        elif close:
            self.transport.close()

    def _linger(self) -> None:
        """Close when the client does, or in a moment; a newcomer may have the place meanwhile."""
        self._lingers = True
        self.transport.write_eof()
        self.server_state.incomplete[self] = None
        self._stop_timer()
        self._timer = self.loop.call_later(LINGER, self.transport.close)
