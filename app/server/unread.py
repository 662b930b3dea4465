"""Answers that clients do not read: for how long, and how much of them, a server keeps.

asyncio keeps whatever is written until the client reads it, and uvicorn writes an answer at once.
"""

from __future__ import annotations

import asyncio

import structlog

MIN_RATE = 20_000
"""Bytes a second at which an answer, or a body, gets as much time again: a slow line."""

_log = structlog.get_logger()


class UnreadAnswers:
    """Connections whose clients do not read as fast as they are answered, the slowest first.

    timeout    seconds in which a client has to read some of its answer, see `MIN_RATE`
    max_bytes  kept for all of them; beyond it the slowest are closed. A single answer may be as
               long as it is
    """

    def __init__(self, timeout: float, max_bytes: int) -> None:
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._timers: dict[asyncio.Transport, asyncio.TimerHandle] = {}

    def __contains__(self, transport: asyncio.Transport) -> bool:
        return transport in self._timers

    def paused(self, transport: asyncio.Transport) -> None:
        """More is unsent than a transport should keep, see `asyncio.BaseProtocol.pause_writing`."""
        self._watch(transport)
        unsent = {one: one.get_write_buffer_size() for one in self._timers}
        excess = sum(unsent.values()) - self._max_bytes
        for one, n_bytes in list(unsent.items())[:-1]:
            if excess <= 0:
                break
            excess -= n_bytes
            self._close(one)

    def resumed(self, transport: asyncio.Transport) -> None:
        """Nearly all is sent, or the connection is lost."""
        if timer := self._timers.pop(transport, None):
            timer.cancel()

    def _watch(self, transport: asyncio.Transport) -> None:
        self._timers[transport] = asyncio.get_running_loop().call_later(
            self._timeout, self._check, transport, transport.get_write_buffer_size()
        )

    def _check(self, transport: asyncio.Transport, unsent_before: int) -> None:
        """Nothing is written while writing is paused, so that the difference is what was read."""
        n_read = unsent_before - transport.get_write_buffer_size()
        if n_read >= MIN_RATE * self._timeout:
            self._watch(transport)
        else:
            self._close(transport)

    def _close(self, transport: asyncio.Transport) -> None:
        _log.info("client does not read", unsent=transport.get_write_buffer_size())
        self.resumed(transport)
        transport.abort()
