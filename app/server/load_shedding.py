"""The cheapest way to refuse: before a request is parsed, or its body is read.

Under a flood most requests are refused, and what a refusal costs decides how much of the processor
is left for those that are admitted.
"""

from __future__ import annotations

import time

from starlette.datastructures import Headers, QueryParams
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import AppError, QueueFullError
from app.observe.metrics import Metrics
from app.runtime import Lifecycle
from app.server.loop_lag import LoopLag
from app.wire.failures import SHARED_PATHS, failure_response
from app.wire.problems import KINDS, detail_of, problem_response
from app.wire.request_id import REQUEST_ID, request_id_of

MANY = 32
"""Requests admitted at which a loop that is behind is behind because of them. With fewer, somebody
else has the processor, or a container's quota is used up, and refusing would help nobody."""

REFUSED = KINDS[QueueFullError].slug


class Overload:
    """Which posts there is no place for. Metrics tell of those refused, no log does.

    lag      of the event loop, which may be what does not keep up
    timeout  seconds that a request has, if it asks for no less
    """

    def __init__(
        self, lifecycle: Lifecycle, metrics: Metrics, *, lag: LoopLag, timeout: float
    ) -> None:
        self._lag = lag
        self._lifecycle = lifecycle
        self._metrics = metrics
        self._timeout = timeout

    def refusal(self, scope: Scope, n_coming: int = 0) -> Response | None:
        """The answer to a request that has to be refused; its ID is then in the scope's state.

        `n_coming` others are about to take a place.
        """
        if scope["method"] != "POST":
            return None
        began = time.perf_counter()
        try:
            admission = self._lifecycle.open.admission
            admission.check(self._timeout, n_coming)
            if self._lag.sustained and admission.taken >= MANY:
                raise QueueFullError("more comes in than can be read")
        except QueueFullError as error:
            request_id = request_id_of(Headers(scope=scope))
            scope.setdefault("state", {})["request_id"] = request_id
            answer = _response(error, scope)
            answer.headers[REQUEST_ID] = request_id
            self._metrics.refused_early(REFUSED, time.perf_counter() - began)
            return answer
        except AppError:
            pass  # starting or stopping, which is told with a line in the log
        return None


class OverloadShield:
    """Refuses as middleware what no server refused that asked before it called the application."""

    def __init__(self, app: ASGIApp, overload: Overload) -> None:
        self._app = app
        self._overload = overload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        refusal = self._overload.refusal(scope) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)


def _response(error: Exception, scope: Scope) -> Response:
    """Where only the body would tell the dialect, a document that clients of both can read."""
    if scope["path"] in SHARED_PATHS and "q" not in QueryParams(scope["query_string"]):
        return problem_response(error, scope["state"]["request_id"], error=detail_of(error))
    return failure_response(error, scope)
