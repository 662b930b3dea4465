"""Admits or rejects POST requests before they are parsed or their bodies are read.

In an overload most requests are rejected, and the cost of rejections determines how much processor
time is left for admitted requests.
"""

import asyncio
import re
import time
from collections import deque

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import AppError, QueueFullError
from app.observe.metrics import EARLY, Metrics
from app.runtime import Lifecycle
from app.server.middleware import PROBES
from app.wire.failures import SHARED_PATHS, failure_response
from app.wire.problems import KINDS, detail_of, problem_response
from app.wire.request_id import REQUEST_ID, request_id_of

INTERVAL = 0.02
"""Seconds between checks of the clock."""

MAX_LAG = 0.05
"""Seconds by which a check may be late; probes wait about as long."""

SUSTAINED = 2
"""Consecutive late checks. One alone may be garbage collection or a process that was not run."""


class LoopLag:
    """Checks the clock of the running event loop, from `start` to `stop`."""

    def __init__(self) -> None:
        self._n_late = 0
        self._next: asyncio.TimerHandle | None = None

    @property
    def sustained(self) -> bool:
        return self._n_late >= SUSTAINED

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._check(loop, loop.time())

    def stop(self) -> None:
        if self._next:
            self._next.cancel()

    def _check(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        now = loop.time()
        self._n_late = self._n_late + 1 if now - due > MAX_LAG else 0
        self._next = loop.call_later(INTERVAL, self._check, loop, now + INTERVAL)


AT_A_TIME = 8
"""Requests started per iteration of the loop. Starting one, until it waits for an engine, takes up
to a millisecond, and hundreds may arrive at once: probes and rejections must not wait for all of
them."""

MANY = 32
"""Admitted requests from which a late loop is attributed to them. With fewer, another process uses
the processor, or a container's quota is used up, and rejecting would not help."""


class Gate:
    """Lets a few requests start per iteration of the event loop, in order of arrival."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._n_started = 0  # that start in the next iteration

    @property
    def n_coming(self) -> int:
        """Requests that passed the check and have not started."""
        return self._n_started + len(self._waiting)

    async def turn(self) -> None:
        """Wait until the request may start, which is in the next iteration at the earliest.

        It then takes a slot at once, and is no longer counted in `n_coming`.
        """
        if self._n_started < AT_A_TIME:
            self._start(1)
            await asyncio.sleep(0)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _start(self, n: int) -> None:
        if not self._n_started:
            asyncio.get_running_loop().call_soon(self._next_iteration)
        self._n_started += n

    def _next_iteration(self) -> None:
        self._n_started = 0
        if n := min(AT_A_TIME, len(self._waiting)):
            self._start(n)
        for _ in range(n):
            if not (turn := self._waiting.popleft()).cancelled():
                turn.set_result(None)


_HAS_Q = re.compile(rb"(?:^|&)q=")
"""Whether a query has LibreTranslate's text. To parse one takes 10 ms if it is as long as a URL may
be."""


class LoadShedding:
    """Middleware: rejects POSTs beyond the server's capacity; requests start a few at a time.

    Probes start at once. Requests that are not POSTs take no slot and wait apart, so that neither
    kind delays the other.

    Rejections appear in metrics but not in the log.

    lag      of the event loop, which may be the bottleneck
    timeout  default timeout of a request, in seconds
    """

    def __init__(
        self, app: ASGIApp, lifecycle: Lifecycle, metrics: Metrics, *, lag: LoopLag, timeout: float
    ) -> None:
        self._app = app
        self._lag = lag
        self._lifecycle = lifecycle
        self._metrics = metrics
        self._timeout = timeout
        self._gate = Gate()
        self._others = Gate()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            if rejection := self._rejection(scope):
                await rejection(scope, receive, send)
                return
            await self._gate.turn()
        elif scope["type"] == "http" and scope["path"] not in PROBES:
            await self._others.turn()
        await self._app(scope, receive, send)

    def _rejection(self, scope: Scope) -> Response | None:
        began = time.perf_counter()
        try:
            admission = self._lifecycle.open.admission
            admission.check(self._timeout, self._gate.n_coming)
            if self._lag.sustained and admission.n_admitted >= MANY:
                raise QueueFullError("requests arrive faster than they can be read")
        except QueueFullError as error:
            request_id = request_id_of(Headers(scope=scope))
            scope.setdefault("state", {})["request_id"] = request_id
            if scope["path"] in SHARED_PATHS and not _HAS_Q.search(scope["query_string"]):
                # The dialect depends on the body: clients of both can read the response.
                response = problem_response(error, request_id, error=detail_of(error))
            else:
                response = failure_response(error, scope)
            response.headers[REQUEST_ID] = request_id
            seconds = time.perf_counter() - began
            reason = KINDS[QueueFullError].slug
            self._metrics.failed(EARLY, reason, seconds, rejected=True)
            return response
        except AppError:
            pass  # starting or stopping, which is logged later
        return None
