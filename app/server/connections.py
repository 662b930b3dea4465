"""HTTP connections with limits of time and size in both directions.

uvicorn does not limit incomplete headers and bodies, unread responses, or the number of idle
connections, and middleware only sees a request after its headers are received. A proxy can set some
of these limits (`deploy/haproxy`), but the server must also be safe without one. Therefore it has a
subclass of uvicorn's protocol. `tests/app/server/test_uvicorn.py` lists the overridden methods, and
pyproject.toml the supported versions of uvicorn.
"""

import asyncio
import re
import uuid
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal

from starlette.exceptions import HTTPException
from starlette.responses import Response
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from app.server.middleware import OF_DATA
from app.server.request_parser import RequestParser
from app.server.unread import MIN_RATE, UnreadAnswers
from app.wire.problems import problem_response

MAX_TARGET_BYTES = 60_000
"""Maximum length of a request target: path and query. httptools reads at most 65,535."""

MAX_HEAD_BYTES = 65_536
"""Maximum length of request line and headers."""

MAX_HEADERS = 200
"""Maximum number of headers of a request, with the trailers of its body; Apache's is 100. Every
look-up passes over all of them: 15,000 fit in `MAX_HEAD_BYTES`."""

MAX_PIPELINED = 32
"""Maximum number of requests that wait behind another on a connection, which is closed after the
last one's answer. Of such requests 8,000 fit in what is read at once, and take 80 ms and 14 MB."""

LINGER = 1.0
"""Seconds in which the rest of a rejected request is read and discarded. If the connection were
closed at once, the kernel would reset it and the client would lose the response."""

_HOST = re.compile(rb"[\w.~!$&'()*+,;=%-]*(?::\d*)?|\[[0-9a-fA-F:.]+\](?::\d*)?")
"""https://www.rfc-editor.org/rfc/rfc9112#section-3.2"""

Phase = Literal["head", "body", "none"]
"""The part of a request that is expected next. Between requests, none."""


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits of the connections; timeouts in seconds.

    head_timeout      for the headers of a request to arrive
    body_timeout      for its body to arrive after the headers
    write_timeout     for the client to read a part of its response
    max_unsent_bytes  of unread responses, of all connections
    """

    max_connections: int
    head_timeout: float = 10.0
    body_timeout: float = 30.0
    write_timeout: float = 30.0
    max_unsent_bytes: int = 64_000_000


class Connections(ServerState):
    """A server's connections; those `incomplete` have no complete request, the oldest first."""

    def __init__(self, limits: ConnectionLimits) -> None:
        super().__init__()
        self.limits = limits
        self.incomplete: dict[TimedProtocol, None] = {}
        self.unread = UnreadAnswers(limits.write_timeout, limits.max_unsent_bytes)


class TimedProtocol(HttpToolsProtocol):
    """One connection. The timeout for headers starts when it opens, or with their first byte."""

    server_state: Connections
    parser: RequestParser  # type: ignore[assignment]

    def __init__(
        self,
        config: Config,
        server_state: Connections,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.parser = RequestParser(self)
        self._phase: Phase = "head"
        self._n_requests = 0
        self._unanswered: deque[RequestResponseCycle] = deque()  # requests with complete headers
        self._target_bytes = 0
        self._head_bytes = 0
        self._body_bytes = 0
        self._n_received = 0  # bytes in the latest chunk
        self._fault: tuple[int, str] | None = None  # within the parser, or behind other requests
        self._lingers = False  # nothing more is read
        self._watched: tuple[Phase, int] = "none", 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """With too many connections, close the one that has waited longest for a request.

        So neither slow nor idle clients block probes.
        """
        super().connection_made(transport)
        state = self.server_state
        if len(state.connections) > state.limits.max_connections:
            if not state.incomplete:
                self._refuse(503, "too many connections")
                return
            oldest = next(iter(state.incomplete))
            del state.incomplete[oldest]
            oldest.transport.abort()
        state.incomplete[self] = None
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for cycle in self._unanswered:  # uvicorn tells only the latest
            cycle.disconnected = True
            cycle.message_event.set()
        self.server_state.incomplete.pop(self, None)
        self.server_state.unread.resumed(self.transport)
        self._stop_timer()

    def data_received(self, data: bytes) -> None:
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
        if len(self._unanswered) > MAX_PIPELINED:
            self._lingers = True  # the client sees after which answer it has to ask again
            self.cycle.keep_alive = False
            raise ValueError
        super().on_message_begin()
        self._phase = "head"
        self._n_requests += 1
        self._target_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._target_bytes += len(url)
        if self._target_bytes > MAX_TARGET_BYTES:
            self._fault = 414, f"a URL may have at most {MAX_TARGET_BYTES:,} bytes"
            raise ValueError
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) == MAX_HEADERS:
            self._fault = 431, f"a request may have at most {MAX_HEADERS} headers"
            raise ValueError
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The headers are complete. An exception here is reported as malformed HTTP."""
        if self._head_bytes + self._n_received > MAX_HEAD_BYTES:
            size = self._target_bytes + sum(len(name) + len(value) for name, value in self.headers)
            if size > MAX_HEAD_BYTES:
                self._fault = 431, "the headers are too large"
                raise ValueError
        hosts = [value for name, value in self.headers if name == b"host"]
        is_named = hosts or self.parser.get_http_version() == "1.0"
        if not is_named or len(hosts) > 1 or not all(map(_HOST.fullmatch, hosts)):
            self._fault = 400, "a request has one header Host, with a name and perhaps a port"
            raise ValueError
        codings = [value for name, value in self.headers if name == b"transfer-encoding"]
        is_newer = self.parser.get_http_version() != "1.0"  # which has no chunks, RFC 9112 §6.1
        if codings and not (is_newer and [one.lower() for one in codings] == [b"chunked"]):
            self._fault = 400, "the only Transfer-Encoding is chunked, from HTTP/1.1 on"
            raise ValueError
        try:
            super().on_headers_complete()
        except Exception:
            self._fault = 400, "the target of the request cannot be read"
            raise
        self._unanswered.append(self.cycle)
        self._phase = "body"
        self._head_bytes = self._body_bytes = 0

    def on_message_complete(self) -> None:
        if self.parser.leaves_body:
            return
        self._phase = "none"
        self._body_bytes = 0
        self.server_state.incomplete.pop(self, None)
        if not self._unanswered:  # answered without reading the body
            self.server_state.incomplete[self] = None  # idle
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The response is complete; the next request may arrive or be waiting."""
        self._unanswered.popleft()
        super().on_response_complete()
        if self._phase == "none" and not self._unanswered:
            self.server_state.incomplete[self] = None  # idle
            if self._fault and not self.transport.is_closing():
                self._refuse(*self._fault, linger=True)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.server_state.unread.paused(self.transport)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.server_state.unread.resumed(self.transport)

    def send_400_response(self, msg: str) -> None:
        """Malformed HTTP gets a problem document, like any other error.

        Too long a pipeline is answered as far as it is read.
        """
        if not self._lingers:
            fault, self._fault = self._fault or (400, msg), None
            self._refuse(*fault, linger=True)

    def _watch(self) -> None:
        awaited = self._phase, self._n_requests
        if awaited == self._watched:
            return
        self._watched = awaited
        self._stop_timer()
        # After a body that arrived after its response, uvicorn never closes the connection.
        if self._phase != "none" or not self._unanswered:
            self._start_timer()

    def _start_timer(self) -> None:
        head, body = self.server_state.limits.head_timeout, self.server_state.limits.body_timeout
        seconds = {"head": head, "body": body, "none": self.config.timeout_keep_alive}
        self._timer = self.loop.call_later(seconds[self._phase], self._too_late)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    @property
    def _has_earlier(self) -> bool:
        return len(self._unanswered) > (self._phase == "body")

    def _too_late(self) -> None:
        if self.transport.is_closing():
            return
        if self._has_earlier or not self.transport.is_reading():  # the server paused it
            self._start_timer()
        elif self._body_bytes >= MIN_RATE * self.server_state.limits.body_timeout:
            self._body_bytes = 0
            self._start_timer()
        elif self._phase == "none" or (self._phase == "head" and not self._head_bytes):
            self.transport.close()  # idle, or opened and never used
        else:
            part = "headers" if self._phase == "head" else "body"
            self._refuse(408, f"the {part} arrived too slowly")

    def _refuse(self, status: int, detail: str, *, linger: bool = False) -> None:
        """Respond without the application, after all earlier responses, and close.

        linger  before closing, read the rest of the request
        """
        self._stop_timer()
        if self._has_earlier:
            self._fault, self._lingers = (status, detail), True
            if self._phase == "body":
                self.pipeline.popleft()
                self._unanswered.pop()
            self._phase = "none"
            return
        if self._phase == "body" and self.cycle.response_started:
            self.transport.close()
            return
        if self.transport in self.server_state.unread and not self._lingers:
            self.transport.abort()
            return
        response = problem_response(HTTPException(status, detail), uuid.uuid4().hex)
        self.transport.write(_to_bytes(response, self.server_state.default_headers))
        if not linger:
            self.transport.close()
            return
        self._lingers = True
        self.transport.write_eof()
        self.server_state.incomplete[self] = None
        self._timer = self.loop.call_later(LINGER, self.transport.close)


def _to_bytes(response: Response, default_headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Encode the last response of a connection as HTTP/1.1."""
    status = HTTPStatus(response.status_code)
    headers = [*response.raw_headers, *default_headers, *OF_DATA, (b"connection", b"close")]
    lines = [b"HTTP/1.1 %d %b" % (status, status.phrase.encode())]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"", bytes(response.body)])
