"""The time that HTTP, queue and scheduler add to the engine's, per request.

A real server on loopback, in a separate process, with an engine that computes nothing and takes a
known time: one step per source token. The overhead is the client's latency minus the time of the
same engine driven directly. Half a step of it is due to the engine: a new request waits for the
current step. The client is minimal, so that its cost is not attributed to the server.

    python -m benchmarks.overhead [--json FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import socket
import statistics
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from app.cli.serve import listen, make_server, spare_the_collector
from app.loading import build_runtime
from app.main import create_app
from app.observe.logs import configure_logs
from app.observe.metrics import Metrics
from app.runtime import Runtime
from app.settings import Settings
from benchmarks.counting_engine import CountingEngine
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Finished, Job

WORDS = "The weather was so nice yesterday that we went to the sea with our old friends ."
TEXTS = [" ".join(WORDS.split()[-n_words:]) for n_words in range(6, 17)]
ROWS = ((1, 0.0005), (32, 0.002), (32, 0.0))
"""Clients, seconds per step. The last shows the throughput of HTTP alone."""


class SleepingEngine(CountingEngine):
    """A sentence takes one step per token, a step `seconds`, regardless of others in flight."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def step(self) -> list[Finished]:
        """Sleep, and finish sentences that have had all their steps."""
        if self._seconds and self.busy:
            time.sleep(self._seconds)
        return super().step()


@dataclass(frozen=True)
class Row:
    """One measurement; milliseconds."""

    clients: int
    step_ms: float
    requests: int
    per_second: float
    added_p50: float
    added_p95: float
    added_p99: float


def serve(listener: socket.socket, seconds: float) -> None:
    """Run the server as `attend serve` does, except for the engine."""

    def load(settings: Settings, metrics: Metrics) -> Runtime:
        engine = SleepingEngine(seconds)
        # Without golden sentences, which this engine cannot translate.
        checkpoints = [
            replace(load_checkpoint(folder), golden=()) for folder in settings.checkpoint
        ]
        return build_runtime(checkpoints, [[engine] for _ in checkpoints], settings, metrics)

    settings = Settings.parse(sentence_cache_bytes=0)
    server = make_server(create_app(settings, load, when_ready=spare_the_collector), settings)
    with Path(os.devnull).open("w") as nowhere:
        configure_logs("info", stream=nowhere)  # the cost of log lines is part of the server's
        server.run([listener])


def step_alone(seconds: float, n_steps: int = 500) -> float:
    """Return the seconds per step when the engine is driven directly."""
    engine = SleepingEngine(seconds)
    engine.admit([Job(0, (1,) * n_steps, SearchOptions())])
    began = time.perf_counter()
    while engine.busy:
        engine.step()
    return (time.perf_counter() - began) / n_steps


class Client:
    """HTTP/1.1 over one persistent connection."""

    def __init__(self, port: int, step_seconds: float) -> None:
        self._port = port
        self._step_seconds = step_seconds

    async def run(self, until: float) -> list[float]:
        """Send requests one after the other until `until`; return the seconds added to each."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        choose = random.Random(id(self))
        added = []
        while (began := time.perf_counter()) < until:
            writer.write(_request(choose.choice(TEXTS)))
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200 "):
                raise RuntimeError(head.decode())
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            body = await reader.readexactly(int(length))
            seconds = time.perf_counter() - began
            n_steps = json.loads(body)["usage"]["source_tokens"]
            added.append(seconds - n_steps * self._step_seconds)
        writer.close()
        return added


def _request(text: str) -> bytes:
    body = json.dumps({"text": text, "target": "fr"}).encode()
    head = (
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def ask(port: int, n_clients: int, step_seconds: float, seconds: float) -> list[float]:
    """Closed loop: return the seconds added to all requests of all clients."""
    until = time.perf_counter() + seconds
    clients = [Client(port, step_seconds) for _ in range(n_clients)]
    return [one for run in await asyncio.gather(*(c.run(until) for c in clients)) for one in run]


def wait_until_ready(port: int) -> None:
    """Return once /readyz responds with 200."""
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(b"GET /readyz HTTP/1.0\r\n\r\n")
                if b" 200 " in connection.recv(100):
                    return
        except OSError:
            pass
        time.sleep(0.05)


def measure(n_clients: int, nominal: float, seconds: float) -> Row:
    """Measure one row with a new server; a step takes slightly more than the nominal time."""
    step_seconds = step_alone(nominal)
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        server = multiprocessing.get_context("fork").Process(target=serve, args=(listener, nominal))
        server.start()
        try:
            wait_until_ready(port)
            asyncio.run(ask(port, n_clients, step_seconds, seconds / 5))  # warm
            added = asyncio.run(ask(port, n_clients, step_seconds, seconds))
        finally:
            server.terminate()
            server.join()
    cuts = statistics.quantiles(added, n=100)
    p50, p95, p99 = (1000 * cuts[percent - 1] for percent in (50, 95, 99))
    return Row(n_clients, 1000 * step_seconds, len(added), len(added) / seconds, p50, p95, p99)


def main() -> None:
    """Print the table, and write it if requested."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10, help="per row; default 10")
    parser.add_argument("--json", type=Path, help="file to write the rows to")
    arguments = parser.parse_args()
    rows = [measure(*row, arguments.seconds) for row in ROWS]
    lines = ["clients  step ms  requests/s  added ms: p50     p95     p99"]
    lines += [
        f"{row.clients:7}  {row.step_ms:7.3f}  {row.per_second:10.0f}  "
        f"{row.added_p50:13.2f}  {row.added_p95:6.2f}  {row.added_p99:6.2f}"
        for row in rows
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
