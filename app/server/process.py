"""uvicorn's server, stopping and reloading as a server in production should."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import FrameType

import structlog
import uvicorn

from app.errors import AppError, ReloadFailedError
from app.observe.logs import log_failure
from app.runtime import Lifecycle
from app.server.connections import ConnectionLimits, Connections
from app.server.gate import Refusal, admit_all

ACCEPTED_AT_A_TIME = 16
"""Connections that are accepted before the loop sees to those it has. From one socket libuv accepts
one, so that in a flood of new connections a probe's would wait until all before it are served."""

_log = structlog.get_logger()


class LimitedServer(uvicorn.Server):
    """Times and counts connections, and refuses requests; see `app.server.connections`."""

    def __init__(
        self, config: uvicorn.Config, limits: ConnectionLimits, refusal: Refusal = admit_all
    ) -> None:
        super().__init__(config)
        self.server_state = Connections(limits, refusal)


class AdminServer(LimitedServer):
    """One beside another in its event loop, which leaves signals to that."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """None."""
        yield


class Server(LimitedServer):
    """Drains on SIGTERM and SIGINT, exits at once on a second one; reloads the models on SIGHUP.

    After the first signal the server is not ready, but takes requests for `drain_delay` seconds,
    in which whoever sends them here may notice. Then it takes none, and finishes what it has within
    `config.timeout_graceful_shutdown` seconds.

    admin  a server and its socket, which run as long as this one does
    """

    def __init__(
        self,
        config: uvicorn.Config,
        limits: ConnectionLimits,
        lifecycle: Lifecycle,
        drain_delay: float,
        *,
        admin: tuple[AdminServer, socket.socket] | None = None,
        refusal: Refusal = admit_all,
    ) -> None:
        super().__init__(config, limits, refusal)
        self._lifecycle = lifecycle
        self._drain_delay = drain_delay
        self._admin = admin
        self._admin_runs: asyncio.Task[None] | None = None
        self._close_at: float | None = None
        self._told = False
        self._reload_asked = False
        self._reloading: asyncio.Task[None] | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal."""
        signal.signal(signal.SIGHUP, self._ask_for_reload)
        super().run(sockets and copied(sockets, ACCEPTED_AT_A_TIME))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """A signal to stop. It is dealt with here, so it is not raised once more at the end."""
        if self._close_at is not None:
            os._exit(128 + sig)
        self._lifecycle.drain()
        self._close_at = time.monotonic() + self._drain_delay

    def _ask_for_reload(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._reload_asked = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening."""
        await super().startup(sockets)
        if self._admin:
            server, listener = self._admin
            self._admin_runs = asyncio.create_task(server.serve([listener]))

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: what the signals asked for."""
        if self._reload_asked:
            self._reload_asked = False
            self._reloading = asyncio.create_task(self._reload())
        if self._close_at is not None:
            if not self._told:
                self._told = True
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
        """Finish what there is, then stop."""
        await super().shutdown(sockets)
        if self._admin and self._admin_runs:
            server, _ = self._admin
            server.should_exit = True
            await self._admin_runs


def copied(sockets: Sequence[socket.socket], n: int) -> list[socket.socket]:
    """Each as n file descriptors, the given one among them."""
    return [*sockets, *(one.dup() for one in sockets for _ in range(n - 1))]
