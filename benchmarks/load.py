"""Load on a server, from a separate process with a minimal client.

Closed loop: n clients, each of which sends its next request after each response. Open loop:
requests arrive at random (Poisson) regardless of responses, and latency is measured from the time
when the request was due.
"""

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count, cycle

import uvloop

HOST = "127.0.0.1"
TIMEOUT = 60.0
"""Seconds after which a request counts as failed."""

_HEAD_END = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """A persistent connection to POST /translate, with one request at a time.

    Responses must have a Content-Length, except those without content.
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
            if head[9:12] == b"204":  # never has a body
                length = b"0"
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


@dataclass(frozen=True)
class Load:
    """A load, with either `clients` (closed loop) or `rate` (open loop, requests/s).

    texts       one per request, repeated
    fields      of the request, besides the text
    seconds     duration of the measurement, after `warm_up` seconds
    requests    maximum number, including the warm-up; None: unlimited
    niceness    of the load process, if it shares the server's cores
    text_field  the name of the request's field for the text
    """

    port: int
    texts: Sequence[str]
    fields: Mapping[str, str | int]
    clients: int | None = None
    rate: float | None = None
    seconds: float = 10.0
    warm_up: float = 1.0
    requests: int | None = None
    seed: int = 1
    niceness: int = 0
    text_field: str = "text"

    @property
    def label(self) -> str:
        return f"{self.clients} clients" if self.clients else f"{self.rate:.1f}/s"


@dataclass(frozen=True)
class Outcome:
    """The measured requests; latencies in milliseconds, of responses with 200.

    errors       status, or the name of an exception, → count, including the warm-up
    refused_p99  of responses with 429; 0 if none
    late_p99     delay of requests of an open loop after they were due: if the client cannot keep
                 up, the other figures measure the client
    """

    per_second: float
    p50: float
    p95: float
    p99: float
    answered: int
    errors: dict[str, int] = field(default_factory=dict)
    refused_p99: float = 0.0
    late_p99: float = 0.0


class Run:
    """A running load."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._requests = cycle(
            [request_bytes({load.text_field: text, **load.fields}) for text in load.texts]
        )
        self._numbers: Iterator[int] = (
            count() if load.requests is None else iter(range(load.requests))
        )
        self._began = time.perf_counter()
        self._counts_from = self._began + load.warm_up
        self._end = self._counts_from + load.seconds
        self._last = self._began
        self._latencies: list[float] = []
        self._refusals: list[float] = []
        self._late: list[float] = []
        self._errors: Counter[str] = Counter()

    async def closed(self, n_clients: int) -> Outcome:
        """Run n clients until the time or the requests are used up."""
        async with asyncio.TaskGroup() as clients:
            for _ in range(n_clients):
                clients.create_task(self._client())
        return self._outcome()

    async def open(self, rate: float) -> Outcome:
        """Send requests at random times; wait for all that are due."""
        gaps = random.Random(self._load.seed)
        idle: list[Connection] = []
        due = self._began
        async with asyncio.TaskGroup() as arrivals:
            for _ in self._numbers:
                due += gaps.expovariate(rate)
                if due >= self._end:
                    break
                await asyncio.sleep(due - time.perf_counter())
                arrivals.create_task(self._arrival(due, idle))
        for connection in idle:
            connection.close()
        return self._outcome()

    async def _client(self) -> None:
        connection = Connection(self._load.port)
        for _ in self._numbers:
            began = time.perf_counter()
            if began >= self._end:
                break
            await self._ask(connection, began)
        connection.close()

    async def _arrival(self, due: float, idle: list[Connection]) -> None:
        self._late.append(time.perf_counter() - due)
        connection = idle.pop() if idle else Connection(self._load.port)
        await self._ask(connection, due)
        idle.append(connection)

    async def _ask(self, connection: Connection, since: float) -> None:
        status = await connection.ask(next(self._requests))
        now = time.perf_counter()
        if status != "200":
            self._errors[status] += 1
            if status == "429" and since >= self._counts_from:
                self._refusals.append(now - since)
        elif since >= self._counts_from:
            self._latencies.append(now - since)
            self._last = now

    def _outcome(self) -> Outcome:
        """Compute the outcome; the rate is over the time until the last measured response."""
        latencies = self._latencies
        if len(latencies) < 2:
            raise RuntimeError(f"only {len(latencies)} answers; errors: {dict(self._errors)}")
        per_second = len(latencies) / (self._last - self._counts_from)
        p50, p95, p99 = (percentile(latencies, percent) for percent in (50, 95, 99))
        refused, late = percentile(self._refusals), percentile(self._late)
        answered, errors = len(latencies), dict(self._errors)
        return Outcome(per_second, p50, p95, p99, answered, errors, refused, late)


def percentile(seconds: Sequence[float], percent: int = 99) -> float:
    """Return a percentile in milliseconds; 0 for none."""
    if len(seconds) < 2:
        return 1000 * sum(seconds)
    return 1000 * statistics.quantiles(seconds, n=100, method="inclusive")[percent - 1]


def request_bytes(fields: Mapping[str, object], headers: Mapping[str, str] | None = None) -> bytes:
    """Return a complete POST /translate."""
    body = json.dumps(fields).encode()
    lines = {"Host": HOST, "Content-Type": "application/json", "Content-Length": len(body)}
    head = "".join(f"{name}: {value}\r\n" for name, value in (lines | dict(headers or {})).items())
    return f"POST /translate HTTP/1.1\r\n{head}\r\n".encode() + body


async def run(load: Load) -> Outcome:
    """Run the load in this process."""
    if load.clients:
        return await Run(load).closed(load.clients)
    if load.rate:
        return await Run(load).open(load.rate)
    raise ValueError("neither clients nor a rate")


def put(load: Load) -> Outcome:
    """Run the load in a separate process, which does not delay the caller."""
    with start(load) as process:
        return finish(process)


def start(load: Load) -> subprocess.Popen[str]:
    """Start the load process; see `finish`."""
    command, pipe = [sys.executable, "-m", "benchmarks.load"], subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    assert process.stdin  # noqa: S101  (a pipe was requested)
    process.stdin.write(json.dumps(asdict(load)))
    process.stdin.close()
    process.stdin = None
    return process


def finish(process: subprocess.Popen[str]) -> Outcome:
    """Wait for the load process. Raises `RuntimeError`."""
    printed, _ = process.communicate()
    if process.returncode:
        raise RuntimeError("the load process failed")
    return Outcome(**json.loads(printed))


def main() -> None:
    """Read a `Load` as JSON from standard input, write an `Outcome` to standard output."""
    load = Load(**json.load(sys.stdin))
    os.nice(load.niceness)
    outcome = uvloop.run(run(load))
    json.dump(asdict(outcome), sys.stdout)


if __name__ == "__main__":
    main()
