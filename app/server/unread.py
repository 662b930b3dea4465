"""Limits the time and size of unread responses, which asyncio buffers."""

import asyncio

import structlog

MIN_RATE = 20_000
"""Bytes per second at which a response or a body gets its timeout extended: a slow line."""

_log = structlog.get_logger()


class UnreadAnswers:
    """Connections whose clients read slower than responses are written, the slowest first.

    timeout    seconds in which a client must read a part of its response, see `MIN_RATE`
    max_bytes  for all connections; beyond it, the slowest are closed, but never the latest
    """

    def __init__(self, timeout: float, max_bytes: int) -> None:
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._timers: dict[asyncio.Transport, asyncio.TimerHandle] = {}

    def __contains__(self, transport: asyncio.Transport) -> bool:
        return transport in self._timers

    def paused(self, transport: asyncio.Transport) -> None:
        """The transport's buffer is full, see `asyncio.BaseProtocol.pause_writing`."""
        self._watch(transport)
        unsent = {one: one.get_write_buffer_size() for one in self._timers}
        excess = sum(unsent.values()) - self._max_bytes
        for one, n_bytes in list(unsent.items())[:-1]:
            if excess <= 0:
                break
            excess -= n_bytes
            self._close(one)

    def resumed(self, transport: asyncio.Transport) -> None:
        """The transport's buffer has drained, or the connection is lost."""
        if timer := self._timers.pop(transport, None):
            timer.cancel()

    def _watch(self, transport: asyncio.Transport) -> None:
        self._timers[transport] = asyncio.get_running_loop().call_later(
            self._timeout, self._check, transport, transport.get_write_buffer_size()
        )

    def _check(self, transport: asyncio.Transport, unsent_before: int) -> None:
        """Close if stalled. Writing is paused, so the difference is what the client read."""
        n_read = unsent_before - transport.get_write_buffer_size()
        if n_read >= MIN_RATE * self._timeout:
            self._watch(transport)
        else:
            self._close(transport)

    def _close(self, transport: asyncio.Transport) -> None:
        _log.info("client does not read", unsent=transport.get_write_buffer_size())
        self.resumed(transport)
        transport.abort()
