"""Misuse of connections by clients, on purpose or not."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from app.cli.serve import listen
from app.server import connections
from app.server.connections import (
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    MAX_PIPELINED,
    ConnectionLimits,
    Connections,
    TimedProtocol,
)
from app.server.process import AdminServer
from tests.app.waiting import until

LONG_TIMEOUTS = ConnectionLimits(head_timeout=60, body_timeout=60, max_connections=5)
SHORT_TIMEOUTS = ConnectionLimits(head_timeout=0.4, body_timeout=0.6, max_connections=5)
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
LARGE = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n"


class Echo:
    """Returns the body once the gate is open, or refuses POSTs with 429 before reading it."""

    def __init__(self, *, rejects: bool) -> None:
        self.rejects = rejects
        self.gate = asyncio.Event()
        self.gate.set()
        self.left: list[bool] = []
        self.waits_for_leave = False  # instead of answering
        self.n_read = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.rejects and scope["method"] == "POST":
            await Response(b"full", 429)(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            body = await request.body()
        except ClientDisconnect:
            self.left.append(True)
            return
        self.n_read += 1
        if self.waits_for_leave:
            assert (await receive())["type"] == "http.disconnect"
            self.left.append(True)
            return
        await self.gate.wait()
        await PlainTextResponse(body)(scope, receive, send)


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def answer(self) -> tuple[int, bytes]:
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return int(head.split()[1]), await self._reader.readexactly(length)

    async def end(self) -> bytes:
        try:
            return await self._reader.read()
        except ConnectionError:
            return b""


class Served:
    def __init__(self, app: Echo, port: int, state: Connections) -> None:
        self.app = app
        self.state = state  # generous, since a busy machine may interrupt the test
        self._port = port
        self._connections: list[Connection] = []

    async def connect(self, data: bytes = b"") -> Connection:
        connection = Connection(*await asyncio.open_connection("127.0.0.1", self._port))
        connection.send(data)
        self._connections.append(connection)
        return connection

    def close(self) -> None:
        for connection in self._connections:
            connection.writer.close()


@asynccontextmanager
async def serving(
    limits: ConnectionLimits = LONG_TIMEOUTS, *, rejects: bool = False, keep_alive: int = 5
) -> AsyncIterator[Served]:
    app = Echo(rejects=rejects)
    config = uvicorn.Config(
        app, http=TimedProtocol, ws="none", lifespan="off", log_config=None,
        timeout_graceful_shutdown=1, timeout_keep_alive=keep_alive,
    )  # fmt: skip
    server = AdminServer(config, limits)
    listener = listen("127.0.0.1", 0)
    assert isinstance(server.server_state, Connections)
    served = Served(app, listener.getsockname()[1], server.server_state)
    running = asyncio.create_task(server.serve([listener]))
    while not server.started:
        await asyncio.sleep(0.001)
    try:
        yield served
    finally:
        served.close()
        server.should_exit = True
        await running


async def test_timely_requests_are_answered_however_they_are_cut() -> None:
    async with serving() as served:
        connection = await served.connect()
        for byte in POST + b"abcd":
            connection.send(bytes([byte]))
            await asyncio.sleep(0)
        assert await connection.answer() == (200, b"abcd")
        connection.send(GET + POST + b"efgh" + GET[:10])  # pipelined
        assert await connection.answer() == (200, b"")
        assert await connection.answer() == (200, b"efgh")
        connection.send(GET[10:])
        assert await connection.answer() == (200, b"")


@pytest.mark.parametrize(
    ("sent", "seconds", "part"), [(GET[:20], 0.4, "headers"), (POST + b"ab", 0.6, "body")]
)
async def test_a_trickle_of_bytes_does_not_extend_the_timeout(
    sent: bytes, seconds: float, part: str
) -> None:
    async with serving(SHORT_TIMEOUTS) as served:
        connection = await served.connect(sent)
        began = time.monotonic()

        async def drip() -> None:
            while True:
                await asyncio.sleep(0.05)
                connection.send(b"x" if part == "headers" else b"")

        dripping = asyncio.create_task(drip())
        status, body = await connection.answer()
        assert time.monotonic() - began > seconds * 0.9
        dripping.cancel()
        assert status == 408
        assert json.loads(body)["type"] == "urn:problem-type:attend:too-slow"
        assert part in json.loads(body)["detail"]
        assert await connection.end() == b""
        assert bool(served.app.left) == (part == "body")


async def test_the_second_request_of_a_connection_has_its_time_too() -> None:
    async with serving() as served:
        connection = await served.connect(GET)
        assert (await connection.answer())[0] == 200
        served.state.limits = SHORT_TIMEOUTS
        connection.send(GET)
        assert (await connection.answer())[0] == 200
        await asyncio.sleep(0.5)  # a pause between requests may exceed the timeouts of a request
        served.state.limits = LONG_TIMEOUTS
        connection.send(GET[:5])
        await asyncio.sleep(0.1)
        connection.send(GET[5:])
        assert (await connection.answer())[0] == 200
        served.state.limits = SHORT_TIMEOUTS
        connection.send(GET[:5])
        assert (await connection.answer())[0] == 408


async def test_a_connection_that_is_never_used_is_closed_without_a_word() -> None:
    async with serving(SHORT_TIMEOUTS) as served:
        assert await (await served.connect()).end() == b""


async def test_a_client_waiting_for_its_answer_does_not_time_out() -> None:
    async with serving(SHORT_TIMEOUTS) as served:
        served.app.gate.clear()
        connection = await served.connect(POST + b"abcd" + GET + GET)
        await asyncio.sleep(0.7)
        served.app.gate.set()
        assert await connection.answer() == (200, b"abcd")
        assert await connection.answer() == (200, b"")
        assert await connection.answer() == (200, b"")


HOST = b" HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"CONNECT a:80" + HOST, 400),
        (b"CONNECT a" + HOST, 400),
        (b"GET http://a" + HOST, 400),
        (b"GET a" + HOST, 400),
        (b"GET ?q=1" + HOST, 400),
        (b"OPTIONS *" + HOST, 200),
        ("GET /é".encode() + HOST, 400),
        (b"GET //" + HOST, 200),
        (b"GET /%zz?%" + HOST, 200),
        (b"GET http://a/b?c" + HOST, 200),
        (b"GET /" + b"a" * 50_000 + HOST, 200),
        (b"GET /" + b"a" * 62_000 + HOST, 414),
        (b"GET /" + b"a" * 66_000 + HOST, 414),
        (b"GET /?q=" + b"a" * 300_000 + HOST, 414),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nhost: a\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: user@a\r\n\r\n", 400),
        (b'GET / HTTP/1.1\r\nHost: "><b>\r\n\r\n', 400),
        (b"GET / HTTP/1.1\r\nHost:\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nHost: a.example:8000\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * (MAX_HEAD_BYTES + 100), 431),  # without an end
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 40_000 + b"\r\n", 431),
        (b"BREW /" + HOST, 400),
        (b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 400),
        (b"\x16\x03\x01\x02 hello\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", 200),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ],
)
@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize("before", [b"", GET])
async def test_a_head_that_cannot_be_read_is_refused_and_no_other(
    head: bytes, status: int, in_pieces: bool, before: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as served:
        connection = await served.connect(before)
        if before:
            assert (await connection.answer())[0] == 200
        for start in range(0, len(head), 10_000 if in_pieces else len(head)):
            connection.send(head[start : start + (10_000 if in_pieces else len(head))])
            await asyncio.sleep(0.001)
        answered, body = await connection.answer()
        assert answered == status
        if status != 200:
            assert json.loads(body)["status"] == status
            assert await connection.end() == b""
    assert "Traceback" not in caplog.text


async def test_a_refused_client_that_keeps_sending_is_read_briefly_and_closed() -> None:
    async with serving() as served:
        connection = await served.connect(b"GET /" + b"a" * 100_000)
        began = time.monotonic()
        assert (await connection.answer())[0] == 414
        while not connection.writer.is_closing():
            connection.send(bytes(1000))
            await asyncio.sleep(0.02)
        assert time.monotonic() - began > connections.LINGER * 0.9


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (b"CONNECT a:80" + HOST, 400),
        (b"\x16\x03\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET /" + b"a" * 62_000 + HOST, 414),
        (GET[:-2] + b"a:\r\n" * MAX_HEADERS + b"\r\n", 431),
        (
            POST[:-2].replace(b"Content-Length: 4", b"Transfer-Encoding: chunked") + b"\r\n-2\r\n",
            400,
        ),
    ],
)
@pytest.mark.parametrize("pause", [0, 0.02])
@pytest.mark.parametrize("n_good", [1, 5])
async def test_a_fault_in_a_pipeline_is_answered_behind_what_came_before(
    fault: bytes, status: int, pause: float, n_good: int
) -> None:
    async with serving() as served:
        served.app.gate.clear()
        connection = await served.connect((POST + b"abcd") * n_good)
        await asyncio.sleep(pause)
        connection.send(fault + GET)
        await asyncio.sleep(0.02)
        connection.send(GET)
        served.app.gate.set()
        for _ in range(n_good):
            assert await connection.answer() == (200, b"abcd")
        answered, body = await connection.answer()
        assert answered == json.loads(body)["status"] == status
        assert await connection.end() == b""
        assert served.app.n_read == n_good


async def test_a_client_that_reads_late_gets_all_answers_before_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "LINGER", 0.05)
    body = b"x" * 5_000_000
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with serving() as served:
        connection = await served.connect(head + body + b"\x16\x03\r\n\r\n")
        await until(lambda: served.app.n_read == 1)
        await asyncio.sleep(0.3)
        assert await connection.answer() == (200, body)
        assert (await connection.answer())[0] == 400


async def test_a_fault_behind_the_last_request_of_a_connection_is_not_answered() -> None:
    async with serving() as served:
        last = POST.replace(b"Host: a", b"Host: a\r\nConnection: close") + b"abcd"
        connection = await served.connect(last + b"\x16\x03\r\n\r\n")
        assert await connection.answer() == (200, b"abcd")
        assert await connection.end() == b""


async def test_half_a_request_behind_a_running_one_does_not_time_out() -> None:
    async with serving() as served:
        connection = await served.connect(GET)
        assert await connection.answer() == (200, b"")
        served.app.gate.clear()
        served.state.limits = SHORT_TIMEOUTS
        connection.send(GET + GET[:9])
        await asyncio.sleep(0.5)
        served.state.limits = LONG_TIMEOUTS
        served.app.gate.set()
        assert await connection.answer() == (200, b"")
        connection.send(GET[9:])
        assert await connection.answer() == (200, b"")


async def test_unfinished_and_idle_connections_are_closed_for_new_ones_oldest_first() -> None:
    async with serving(ConnectionLimits(5)) as served:
        served.app.gate.clear()
        working = await served.connect(GET)
        slow = [await served.connect(GET[:7]) for _ in range(3)]
        served.app.gate.set()
        idle = await served.connect(GET)
        assert (await working.answer())[0] == (await idle.answer())[0] == 200
        for connection in slow:
            newcomer = await served.connect(GET)
            assert (await newcomer.answer())[0] == 200
            assert await connection.end() == b""
        again = await served.connect(GET)
        assert (await again.answer())[0] == 200
        assert await working.end() == b""  # the oldest idle connection


async def test_a_new_connection_is_refused_only_if_all_are_busy() -> None:
    async with serving() as served:
        served.app.gate.clear()
        working = [await served.connect(GET) for _ in range(5)]
        await until(lambda: served.app.n_read == 5)
        refused = await served.connect(GET)
        status, body = await refused.answer()
        assert status == 503
        assert json.loads(body)["type"] == "urn:problem-type:attend:too-many-connections"
        served.app.gate.set()
        for connection in working:
            assert (await connection.answer())[0] == 200


async def test_a_slow_body_arrives_while_it_keeps_coming(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MIN_RATE", 20)
    async with serving(ConnectionLimits(5, head_timeout=60, body_timeout=2)) as served:
        connection = await served.connect(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 240\r\n\r\n"
        )
        for _ in range(6):  # 2.5 s, at most 80 bytes a second
            connection.send(b"x" * 40)
            await asyncio.sleep(0.5)
        assert await connection.answer() == (200, b"x" * 240)
        served.state.limits = SHORT_TIMEOUTS
        slow = await served.connect(LARGE)
        for _ in range(3):
            slow.send(b"x")
            await asyncio.sleep(0.1)
        assert (await slow.answer())[0] == 408


async def test_a_rejection_costs_no_connection() -> None:
    async with serving(rejects=True) as served:
        connection = await served.connect(POST + b"abcd" + POST)
        assert await connection.answer() == (429, b"full")
        assert await connection.answer() == (429, b"full")  # before the body is there
        connection.send(b"ab")
        await asyncio.sleep(0.05)
        connection.send(b"cd" + GET)
        assert await connection.answer() == (200, b"")


async def test_a_refused_client_that_keeps_no_connection_has_none() -> None:
    async with serving(rejects=True) as served:
        old = await served.connect(POST.replace(b"HTTP/1.1", b"HTTP/1.0") + b"abcd")
        last = await served.connect(
            POST.replace(b"Host: a", b"Host: a\r\nConnection: close") + b"abcd"
        )
        for connection in (old, last):
            assert await connection.answer() == (429, b"full")
            assert await connection.end() == b""


@pytest.mark.parametrize("body", [[b"abcd"], [b"ab", b"cd"]])
async def test_a_refused_connection_is_idle_and_gives_way_or_is_closed(body: list[bytes]) -> None:
    async with serving(ConnectionLimits(2), rejects=True, keep_alive=1) as served:
        refused = [await served.connect(POST) for _ in range(2)]
        for connection in refused:
            for part in body:
                await asyncio.sleep(0.02)
                connection.send(part)
            assert await connection.answer() == (429, b"full")
        while (await (await served.connect(GET)).answer())[0] == 503:  # their bodies are unread
            await asyncio.sleep(0.01)
        for connection in refused:
            assert await connection.end() == b""


async def test_a_body_that_never_comes_is_not_waited_for_after_a_refusal() -> None:
    async with serving(SHORT_TIMEOUTS, rejects=True) as served:
        connection = await served.connect(POST)
        assert await connection.answer() == (429, b"full")
        assert await connection.end() == b""


async def test_a_pipeline_that_is_refused_is_refused_in_order() -> None:
    async with serving(rejects=True) as served:
        served.app.gate.clear()
        connection = await served.connect(GET + (POST + b"abcd") * MAX_PIPELINED)
        await asyncio.sleep(0.05)
        served.app.gate.set()
        assert await connection.answer() == (200, b"")
        answers = [await connection.answer() for _ in range(MAX_PIPELINED)]
        assert answers[-1] == (429, b"full")
        assert {status for status, _ in answers} <= {200, 429}


@pytest.mark.parametrize("n_requests", [1, 2, 5])
async def test_leaving_a_pipeline_cancels_every_request(n_requests: int) -> None:
    """Else the first request would run on for a closed connection."""
    async with serving() as served:
        served.app.waits_for_leave = True
        connection = await served.connect(GET * n_requests)
        await until(lambda: served.app.n_read == 1)
        connection.writer.transport.abort()
        await until(lambda: served.app.left == [True])
        assert served.app.n_read == 1


async def test_too_long_a_pipeline_is_answered_as_far_as_it_is_read() -> None:
    """The last answer closes the connection; a client repeats the rest."""
    async with serving() as served:
        served.app.gate.clear()
        connection = await served.connect(GET * 1000)
        await until(lambda: served.app.n_read == 1)
        served.app.gate.set()
        answers = (await connection.end()).split(b"HTTP/1.1 200 OK\r\n")[1:]
        assert len(answers) == 1 + MAX_PIPELINED == served.app.n_read
        assert [b"connection: close" in one for one in answers] == [False] * MAX_PIPELINED + [True]
        other = await served.connect(GET)
        assert await other.answer() == (200, b"")


@pytest.mark.parametrize(
    "sent",
    [
        GET[:-2] + b"a:\r\n" * MAX_HEADERS + b"\r\n",
        GET[:-2] + b"a:\r\n" * 15_000,
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"1\r\na\r\n0\r\n" + b"a:\r\n" * 100_000,
    ],
)
async def test_many_headers_or_trailers_are_refused(sent: bytes) -> None:
    async with serving() as served:
        connection = await served.connect(sent)
        status, body = await connection.answer()
        assert status == 431
        assert json.loads(body)["type"] == "urn:problem-type:attend:headers-too-large"
        assert await connection.end() == b""
        fine = await served.connect(GET[:-2] + b"a:\r\n" * (MAX_HEADERS - 1) + b"\r\n")
        assert await fine.answer() == (200, b"")


CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"


@pytest.mark.parametrize("offered", [b"websocket", b"h2c", b"TLS/1.0, HTTP/1.1", b"x"])
@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("body", [b"Content-Length: 4\r\n\r\nabcd", CHUNKED, b"\r\n"])
async def test_an_unsupported_upgrade_is_ignored(offered: bytes, size: int, body: bytes) -> None:
    """Java's HttpClient offers HTTP/2 with its first request, and keeps the connection."""
    head = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: "
    request = head + offered + b"\r\nHTTP2-Settings: AAEA\r\n" + body
    expected = b"abcd" if body != b"\r\n" else b""
    sent = request + GET + request + POST + b"wxyz"
    async with serving() as served:
        connection = await served.connect()
        for start in range(0, len(sent), size):
            connection.send(sent[start : start + size])
            await asyncio.sleep(0)
        for answer in (expected, b"", expected, b"wxyz"):
            assert await connection.answer() == (200, answer)
        connection.send(GET)
        assert await connection.answer() == (200, b"")


@pytest.mark.parametrize("body", [b"Content-Length: 4\r\n\r\nab", CHUNKED[:-5]])
async def test_a_request_that_offers_another_protocol_has_its_time(body: bytes) -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
    async with serving(SHORT_TIMEOUTS) as served:
        connection = await served.connect(head + body)
        assert (await connection.answer())[0] == 408
        assert await connection.end() == b""


async def test_a_request_that_offers_another_protocol_is_refused_like_others() -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
    async with serving() as served:
        connection = await served.connect(head + CHUNKED.replace(b"2\r\ncd", b"-2\r\ncd"))
        assert (await connection.answer())[0] == 400
        assert await connection.end() == b""
    async with serving(rejects=True) as served:
        connection = await served.connect(head + CHUNKED + GET)
        assert (await connection.answer())[0] == 429
        assert await connection.answer() == (200, b"")
