"""Clients that do not read their responses."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.cli.serve import listen
from app.server import unread
from app.server.connections import ConnectionLimits, TimedProtocol
from app.server.process import AdminServer
from tests.app.waiting import until

LARGE = 20_000_000  # more than fits into the socket buffers
PIECE = 100_000
GET = b"GET /%b HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"


class Answers:
    """Return a large answer, whole or in pieces."""

    def __init__(self) -> None:
        self.n_pieces = 0
        self.ended = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = Response(bytes(LARGE))
        if scope["path"] == "/stream":
            response = StreamingResponse(self._pieces())
        try:
            await response(scope, receive, send)
        finally:
            self.ended += 1

    async def _pieces(self) -> AsyncIterator[bytes]:
        for _ in range(LARGE // PIECE):
            self.n_pieces += 1
            yield bytes(PIECE)


@asynccontextmanager
async def serving(limits: ConnectionLimits) -> AsyncIterator[tuple[Answers, AdminServer, int]]:
    app = Answers()
    config = uvicorn.Config(
        app, http=TimedProtocol, ws="none", lifespan="off", log_config=None,
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = AdminServer(config, limits)
    listener = listen("127.0.0.1", 0)
    running = asyncio.create_task(server.serve([listener]))
    while not server.started:
        await asyncio.sleep(0.001)
    try:
        yield app, server, listener.getsockname()[1]
    finally:
        server.should_exit = True
        await running


async def until_closed(server: AdminServer, n_left: int = 0) -> None:
    async with asyncio.timeout(60):
        while len(server.server_state.connections) > n_left:
            await asyncio.sleep(0.01)


def limits(write_timeout: float = 1.0, max_unsent_bytes: int = 10**9) -> ConnectionLimits:
    return ConnectionLimits(100, 10, 10, write_timeout, max_unsent_bytes)


@pytest.mark.parametrize("path", [b"", b"stream"])
async def test_a_client_that_never_reads_is_disconnected(path: bytes) -> None:
    async with serving(limits()) as (app, server, port):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(GET % path)
        await asyncio.sleep(0.1)
        assert len(server.server_state.connections) == 1
        assert app.n_pieces < LARGE // PIECE  # nothing is produced for a client that does not read
        await until_closed(server)
        await until(lambda: app.ended == 1)
        writer.close()


@pytest.mark.parametrize("path", [b"", b"stream"])
async def test_slow_readers_get_everything(path: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread, "MIN_RATE", 1)
    async with serving(limits()) as (_, _, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(GET % path)
        n_read, began = 0, time.monotonic()
        while n_read < LARGE:
            data = await reader.read(1_000_000)
            assert data
            n_read += len(data)
            await asyncio.sleep(0.03)
        assert time.monotonic() - began > 1.2
        writer.close()


async def test_the_slowest_readers_are_disconnected_and_a_single_answer_has_any_length() -> None:
    async with serving(limits(10, max_unsent_bytes=3 * LARGE)) as (_, server, port):
        writers = []
        for _ in range(8):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(GET % b"")
            writers.append(writer)
            await asyncio.sleep(0.02)
        held = [one.transport for one in server.server_state.connections]
        assert sum(one.get_write_buffer_size() for one in held) <= 3 * LARGE
        await until_closed(server, 4)
        for writer in writers:
            writer.close()
    async with serving(limits(10, max_unsent_bytes=1)) as (_, _, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2 * LARGE)
        writer.write(GET % b"")
        await asyncio.sleep(0.05)
        await reader.readuntil(b"\r\n\r\n")
        assert len(await reader.readexactly(LARGE)) == LARGE
        writer.close()


async def test_a_closing_connection_with_an_unread_answer_gives_way() -> None:
    one = ConnectionLimits(1, write_timeout=60)
    async with serving(one) as (_, server, port):
        _, stuck = await asyncio.open_connection("127.0.0.1", port)
        stuck.write(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") % b"")
        held = server.server_state.connections
        await until(lambda: [one.transport.is_closing() for one in held] == [True])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(GET % b"")
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200")
        for client in (stuck, writer):
            client.close()
