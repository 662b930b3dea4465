"""Clients, probes and attackers of a server."""

import asyncio
import http.client
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import cycle

from benchmarks.load import HOST, Connection

PROBE_INTERVAL = 0.05
DRIP_INTERVAL = 1.0


@dataclass
class ClientPool:
    """Clients in this process, each of which sends its next request after each response.

    statuses   → count; failures are counted under the name of their exception
    latencies  of responses with 200, seconds
    """

    port: int
    requests: Sequence[bytes]
    statuses: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    leaving: bool = False

    @asynccontextmanager
    async def run(self, n_clients: int, *, stay: bool = False) -> AsyncIterator[None]:
        """Run the clients until the body ends. After a failure, a client leaves unless `stay`."""
        async with asyncio.TaskGroup() as clients:
            for index in range(n_clients):
                clients.create_task(self._client(index, stay))
            try:
                yield
            finally:
                self.leaving = True

    async def _client(self, index: int, stay: bool) -> None:
        connection = Connection(self.port)
        requests = cycle(self.requests[index % len(self.requests) :])
        while not self.leaving:
            began = time.perf_counter()
            status = await connection.ask(next(requests))
            self.statuses[status] += 1
            if status == "200":
                self.latencies.append(time.perf_counter() - began)
            elif not status.isdigit():
                if not stay:
                    break
                await asyncio.sleep(0.05)
        connection.close()

    @property
    def n_errors(self) -> int:
        """Responses other than 200, and connection failures."""
        return sum(self.statuses.values()) - self.statuses["200"]


@dataclass
class Probes:
    """Probes of /livez: the start of each, and its seconds, infinity if it failed.

    Each probe opens a connection, as an orchestrator does.
    """

    port: int
    began: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def after(self, pause: float) -> list[float]:
        """Return the seconds of probes that started at least `pause` after the first."""
        return [
            seconds
            for began, seconds in zip(self.began, self.seconds, strict=True)
            if began - self.began[0] >= pause
        ]

    def probe(self) -> None:
        began = time.perf_counter()
        connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
        try:
            connection.request("GET", "/livez")
            alive = connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            alive = False
        finally:
            connection.close()
        self.began.append(began)
        self.seconds.append(time.perf_counter() - began if alive else float("inf"))


@contextmanager
def in_thread(work: Callable[[threading.Event], object]) -> Iterator[None]:
    """Run `work` in a thread until the body ends, which sets its event."""
    done = threading.Event()
    thread = threading.Thread(target=work, args=(done,))
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def probing(port: int) -> Iterator[Probes]:
    """Probe repeatedly in a thread."""
    probes = Probes(port)

    def probe_repeatedly(done: threading.Event) -> None:
        while not done.wait(PROBE_INTERVAL):
            probes.probe()

    with in_thread(probe_repeatedly):
        yield probes


@contextmanager
def slow_loris(port: int, n_connections: int) -> Iterator[None]:
    """Hold connections whose headers never end, and reconnect those that are closed."""

    async def drip(done: threading.Event) -> None:
        writer: asyncio.StreamWriter | None = None
        while not done.is_set():
            try:
                if writer is None:
                    _, writer = await asyncio.open_connection(HOST, port)
                    writer.write(b"POST /translate HTTP/1.1\r\nHost: a\r\nX-Slow: ")
                writer.write(b"x")
                await writer.drain()
            except OSError:
                writer = None
            await asyncio.sleep(DRIP_INTERVAL)
        if writer:
            writer.close()

    async def all_of_them(done: threading.Event) -> None:
        await asyncio.gather(*(drip(done) for _ in range(n_connections)))

    with in_thread(lambda done: asyncio.run(all_of_them(done))):
        yield
