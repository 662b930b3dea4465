"""uvicorn's server with graceful shutdown, reload, and a limit on connections."""

import asyncio
import os
import resource
import signal
import socket
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

import structlog
import uvicorn

from app.errors import AppError, ReloadFailedError
from app.observe.logs import log_failure
from app.runtime import Lifecycle
from app.server.connections import ConnectionLimits, Connections

RESERVED = 16
"""Reserved for files opened later: checkpoints, the database, spans, probes."""


def affordable_connections(maximum: int, n_listening: int) -> int:
    """Return `maximum`, or as many as the limit on open files (`ulimit -n`) allows; at least one.

    The soft limit is raised as needed and as the hard one allows. Beyond it the process could not
    accept connections, and clients would wait or be reset. `n_listening` descriptors will listen.
    """
    taken = len(os.listdir("/dev/fd")) + n_listening + RESERVED  # noqa: PTH208
    needed = taken + maximum
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return maximum
    raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    with suppress(OSError, ValueError):  # macOS refuses more than a limit of its own
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
        soft = raised
    if soft >= needed:
        return maximum
    allowed = max(1, soft - taken)
    _log.warning(
        "fewer connections", wanted=maximum, max_connections=allowed, open_files_limit=soft
    )
    return allowed


ACCEPTED_AT_A_TIME = 16
"""Connections accepted before the loop serves existing ones. libuv accepts one per socket, so that
in a flood of new connections a probe would wait until all earlier ones are served."""

_log = structlog.get_logger()


class LimitedServer(uvicorn.Server):
    """Limits connections; see `app.server.connections`."""

    def __init__(self, config: uvicorn.Config, limits: ConnectionLimits) -> None:
        super().__init__(config)
        self.server_state = Connections(limits)


class AdminServer(LimitedServer):
    """A server that shares the event loop of another, which handles signals."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class Server(LimitedServer):
    """Drains on SIGTERM and SIGINT, exits at once on a second one; reloads the models on SIGHUP.

    After the first signal, the server is not ready but accepts requests for `drain_delay` seconds,
    so that load balancers can notice. Then it finishes its work within
    `config.timeout_graceful_shutdown` seconds.

    admin  another server and its socket
    """

    def __init__(
        self,
        config: uvicorn.Config,
        limits: ConnectionLimits,
        lifecycle: Lifecycle,
        drain_delay: float,
        *,
        admin: tuple[AdminServer, socket.socket] | None = None,
    ) -> None:
        super().__init__(config, limits)
        self._lifecycle = lifecycle
        self._drain_delay = drain_delay
        self._admin = admin
        self._admin_runs: asyncio.Task[None] | None = None
        self._close_at: float | None = None
        self._logged_drain = False
        self._reload_requested = False
        self._reloading: asyncio.Task[None] | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        signal.signal(signal.SIGHUP, self._request_reload)
        super().run(sockets and copied(sockets, ACCEPTED_AT_A_TIME))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Handle a signal to stop, which uvicorn then does not raise again at the end."""
        if self._close_at is not None:
            os._exit(128 + sig)
        self._lifecycle.drain()
        self._close_at = time.monotonic() + self._drain_delay

    def _request_reload(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._reload_requested = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._admin:
            server, listener = self._admin
            self._admin_runs = asyncio.create_task(server.serve([listener]))

    async def on_tick(self, counter: int) -> bool:
        """Act on signals; called ten times per second."""
        if self._reload_requested:
            self._reload_requested = False
            self._reloading = asyncio.create_task(self._reload())
        if self._close_at is not None:
            if not self._logged_drain:
                self._logged_drain = True
                _log.info("draining", seconds=self._drain_delay)
            if time.monotonic() >= self._close_at:
                self._lifecycle.close()
                self.should_exit = True
        return await super().on_tick(counter)

    async def _reload(self) -> None:
        try:
            await self._lifecycle.reload()
        except ReloadFailedError as error:
            _log.error("reload failed", reason=str(error))
            log_failure(error)
        except AppError as error:
            _log.warning("no reload", reason=str(error))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if self._admin and self._admin_runs:
            server, _ = self._admin
            server.should_exit = True
            await self._admin_runs


def copied(sockets: Sequence[socket.socket], n: int) -> list[socket.socket]:
    """Return n file descriptors for each socket, including the given one."""
    return [*sockets, *(one.dup() for one in sockets for _ in range(n - 1))]
