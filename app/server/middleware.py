"""Middleware for every request: ID, log line, metrics, unhandled exceptions, security headers."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, reset_contextvars

from app.errors import DrainingError
from app.observe.logs import log_failure
from app.observe.metrics import CLIENT_GONE, Metrics
from app.observe.tracing import trace_id
from app.wire.failures import DOWNLOADS_PREFIX, failure_response
from app.wire.problems import KINDS, REJECTIONS
from app.wire.request_id import REQUEST_ID, request_id_of

GONE_STATUS = 499
"""Logged only, never sent: nginx's status for a client that disconnected before the response."""

PROBES = frozenset({"/livez", "/readyz", "/startupz", "/metrics", "/status"})
"""Paths polled by machines: not counted, and logged at level debug."""

SECRET_PATHS = (DOWNLOADS_PREFIX,)
"""Paths with these prefixes end with a secret: logs show the route instead, or none."""

NO_ROUTE = "none"
OTHER = "other"
"""Label in metrics for requests without a route, and for failures without a reason."""

_log = structlog.get_logger()


class RequestMiddleware:
    """Sets the request ID, responds with 500 to unhandled exceptions, logs and counts.

    The log has neither text nor exception messages, which might quote it.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        headers = Headers(scope=scope)
        request_id = request_id_of(headers)
        ids = {"request_id": request_id}
        if trace := trace_id(headers.get("traceparent", "")):
            ids["trace_id"] = trace
        state = scope.setdefault("state", {})
        state["request_id"] = request_id
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        bound = bind_contextvars(**ids)
        try:
            await self._app(scope, receive, send_with_id)
        except ClientDisconnect:
            status = status or GONE_STATUS
        except asyncio.CancelledError:  # by the server, whose shutdown timeout has expired
            if status:
                raise
            state["failure"] = KINDS[DrainingError].slug
            error = DrainingError("the server has stopped")
            await failure_response(error, scope)(scope, receive, send_with_id)
        except Exception as error:
            log_failure(error)
            state["failure"] = KINDS[Exception].slug
            if status:
                raise
            await failure_response(error, scope)(scope, receive, send_with_id)
        finally:
            if release := state.get("release"):
                release()
            status = status or GONE_STATUS
            seconds = time.perf_counter() - began
            self._record(scope, status, seconds)
            reset_contextvars(**bound)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        path = scope["path"]
        route = getattr(scope.get("route"), "path", NO_ROUTE)
        log = _log.debug if path in PROBES else _log.info
        log(
            "request",
            method=scope["method"],
            path=route if path.startswith(SECRET_PATHS) else path,
            status=status,
            ms=round(1000 * seconds, 1),
        )
        if path in PROBES:
            return
        failure = scope["state"].get("failure")
        if status < 400 and failure is None:  # a stream may fail after its status was sent
            self._metrics.answered(route, seconds)
            return
        reason = CLIENT_GONE if status == GONE_STATUS else failure or OTHER
        self._metrics.failed(route, reason, seconds, rejected=reason in REJECTIONS)


ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"
"""The policy for data, which loads nothing. Pages set their own policies."""


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


_OF_PAGES = _raw(ALWAYS)
OF_DATA = _raw(ALWAYS | {"Content-Security-Policy": DATA_POLICY})
"""The headers for data, as sent."""


_STAINLESS = (
    "Arch", "Helper-Method", "Lang", "OS", "Package-Version", "Retry-Count", "Runtime",
    "Runtime-Version", "Timeout",
)  # fmt: skip
CLIENT_HEADERS = [
    "X-Goog-Api-Key", "User-Agent", "OpenAI-Organization", "OpenAI-Project",
    *(f"X-Stainless-{name}" for name in _STAINLESS),
]  # fmt: skip
"""Headers of Google's clients, and those that OpenAI's sends with each request from a page."""


class Cors(CORSMiddleware):
    """CORS on the paths that `covers` accepts; requests may have `headers`."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        covers: Callable[[str], bool],
        origins: Sequence[str],
        headers: Sequence[str],
    ) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=headers,
            expose_headers=["Retry-After", "Server-Timing", REQUEST_ID],
        )
        self._covers = covers

    def preflight_response(self, request_headers: Headers) -> Response:
        response = super().preflight_response(request_headers)
        if response.status_code == HTTPStatus.OK:
            return response
        return _RefusedPreflight(response.body, response.status_code, dict(response.headers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        covered = scope["type"] == "http" and self._covers(scope["path"])
        await (super().__call__ if covered else self.app)(scope, receive, send)


class _RefusedPreflight(Response):
    """Starlette's text and headers, in the form of other errors of the path."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {
            name: value for name, value in self.headers.items() if not name.startswith("content-")
        }
        error = HTTPException(self.status_code, bytes(self.body).decode(), headers)
        state = scope.setdefault("state", {})
        state.setdefault("request_id", request_id_of(Headers(scope=scope)))
        await failure_response(error, scope)(scope, receive, send)


class SecurityHeaders:
    """Adds security headers that a response does not set itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = dict(message["headers"])  # names in lower case, as in ASGI
                is_page = own.get(b"content-type", b"").startswith(b"text/html")
                headers = _OF_PAGES if is_page else OF_DATA
                added = [header for header in headers if header[0] not in own]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self._app(scope, receive, send_with_headers)
