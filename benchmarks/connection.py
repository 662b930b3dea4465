"""A minimal HTTP connection to a server, to keep the client's cost low."""

from __future__ import annotations

import asyncio

HOST = "127.0.0.1"
TIMEOUT = 60.0
"""Seconds after which a request counts as failed."""

_HEAD_END = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """A persistent connection to POST /translate, with one request at a time.

    Responses must have a Content-Length.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[str] | None = None
        self._received = b""
        self._size = 0  # of the whole response, once its head is received

    async def ask(self, request: bytes) -> str:
        """Send and read the whole response → its status, or the name of the error."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(TIMEOUT):
                if self._transport is None:
                    await loop.create_connection(lambda: self, HOST, self._port)
                self._received, self._size = b"", 0
                self._answer = loop.create_future()
                if self._transport is not None:
                    self._transport.write(request)
                    return await self._answer
                raise EOFError
        except (OSError, TimeoutError, EOFError, ValueError) as error:
            self.close()
            return type(error).__name__

    def close(self) -> None:
        """Close the connection; it reconnects if used again."""
        if self._transport:
            self._transport.close()
        self._transport = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._size:
            head, end, _ = self._received.partition(_HEAD_END)
            if not end:
                return
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            if not length.isdigit():
                self._fail(ValueError())
                return
            self._size = len(head) + len(_HEAD_END) + int(length)
        if len(self._received) >= self._size and self._answer and not self._answer.done():
            self._answer.set_result(self._received[9:12].decode())

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._fail(exc or EOFError())

    def _fail(self, error: Exception) -> None:
        if self._answer and not self._answer.done():
            self._answer.set_exception(error)
