"""Rejects requests early, before they are parsed or their bodies are read.

In an overload most requests are rejected, and the cost of rejections determines how much processor
time is left for admitted requests.
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
"""Admitted requests from which a late loop is attributed to them. With fewer, another process uses
the processor, or a container's quota is used up, and rejecting would not help."""

CHECKED = "attend.checked"
"""In the scope of a request that may be admitted, as the connection or the middleware found."""

REFUSED = KINDS[QueueFullError].slug


class Overload:
    """Decides which POSTs to reject. Rejections appear in metrics but not in the log.

    lag      of the event loop, which may be the bottleneck
    timeout  default timeout of a request, in seconds
    """

    def __init__(
        self, lifecycle: Lifecycle, metrics: Metrics, *, lag: LoopLag, timeout: float
    ) -> None:
        self._lag = lag
        self._lifecycle = lifecycle
        self._metrics = metrics
        self._timeout = timeout

    def refusal(self, scope: Scope, n_coming: int = 0) -> Response | None:
        """Return the response to a request to reject, whose ID is then in the scope's state.

        `n_coming` others are about to be admitted.
        """
        if scope["method"] != "POST":
            return None
        began = time.perf_counter()
        try:
            admission = self._lifecycle.open.admission
            admission.check(self._timeout, n_coming)
            if self._lag.sustained and admission.n_admitted >= MANY:
                raise QueueFullError("requests arrive faster than they can be read")
            scope[CHECKED] = True
        except QueueFullError as error:
            request_id = request_id_of(Headers(scope=scope))
            scope.setdefault("state", {})["request_id"] = request_id
            answer = _response(error, scope)
            answer.headers[REQUEST_ID] = request_id
            self._metrics.refused_early(REFUSED, time.perf_counter() - began)
            return answer
        except AppError:
            pass  # starting or stopping, which is logged later
        return None


class OverloadShield:
    """Middleware that rejects requests if the server did not check them before."""

    def __init__(self, app: ASGIApp, overload: Overload) -> None:
        self._app = app
        self._overload = overload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        is_unchecked = scope["type"] == "http" and CHECKED not in scope
        refusal = self._overload.refusal(scope) if is_unchecked else None
        await (refusal or self._app)(scope, receive, send)


def _response(error: Exception, scope: Scope) -> Response:
    """Return a response; if the dialect depends on the body, clients of both can read it."""
    if scope["path"] in SHARED_PATHS and "q" not in QueryParams(scope["query_string"]):
        return problem_response(error, scope["state"]["request_id"], error=detail_of(error))
    return failure_response(error, scope)
