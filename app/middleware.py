"""What surrounds every request: its id, its line in the log, and the last net under it."""

from __future__ import annotations

import re
import time
import uuid

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.logs import log_failure
from app.problems import problem_response

REQUEST_ID = "X-Request-ID"
CLIENT_GONE = 499
"""Not sent, only logged: nginx's status for a client that left before its answer."""

_USABLE_ID = re.compile(r"[!-~]{1,128}")
_log = structlog.get_logger()


class RequestMiddleware:
    """Takes or makes the request ID and echoes it; answers 500 to what nobody caught; logs.

    A line has method, path, status, milliseconds and ID, never a word of the text, nor an
    exception's message, which might quote it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the lifespan, which passes through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _USABLE_ID.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except ClientDisconnect:
            status = status or CLIENT_GONE
        except Exception as error:
            log_failure(error, request_id)
            if status:
                raise
            await problem_response(error, request_id)(scope, receive, send_with_id)
        finally:
            _log.info(
                "request",
                method=scope["method"],
                path=scope["path"],
                status=status or CLIENT_GONE,
                ms=round(1000 * (time.perf_counter() - began), 1),
                request_id=request_id,
            )
