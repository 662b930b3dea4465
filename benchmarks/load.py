"""Requests to a server, from a process of its own, by a client so bare that it costs little.

Closed loop: n clients, each asks again as soon as it has its answer. Open loop: requests arrive at
random (Poisson), whether answers come or not, and a latency counts from when the request was due.
"""

from __future__ import annotations

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

from benchmarks.connection import HOST, Connection


@dataclass(frozen=True)
class Load:
    """What is asked for; either `clients` (closed loop) or `rate` (open loop, requests/s).

    texts     one a request, over and over
    fields    of the request, beside the text
    seconds   how long requests are made that count, after `warm_up` seconds of such that do not
    requests  at most so many, the warm-up included; None: as many as the time allows
    niceness  of the process that puts the load, where it has to share the server's cores
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

    @property
    def label(self) -> str:
        """For a table."""
        return f"{self.clients} clients" if self.clients else f"{self.rate:.1f}/s"


@dataclass(frozen=True)
class Outcome:
    """Of the requests that count; latencies in milliseconds, of those answered 200.

    errors       status, or the name of an exception, → how many, those of the warm-up included
    refused_p99  of those answered 429; 0 without any
    late_p99     by which requests of an open loop were made after they were due: where the client
                 itself did not keep up, the other figures are of the client
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
    """A load on its way."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._requests = cycle(
            [request_bytes({"text": text, **load.fields}) for text in load.texts]
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
        """n clients until the time or the requests are over."""
        async with asyncio.TaskGroup() as clients:
            for _ in range(n_clients):
                clients.create_task(self._client())
        return self._outcome()

    async def open(self, rate: float) -> Outcome:
        """Arrivals at random; all that are due are waited for."""
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
        """The rate is over the time until the last answer that counts."""
        latencies = self._latencies
        if len(latencies) < 2:
            raise RuntimeError(f"only {len(latencies)} answers; errors: {dict(self._errors)}")
        p50, p95, p99 = (_percentile(latencies, percent) for percent in (50, 95, 99))
        return Outcome(
            len(latencies) / (self._last - self._counts_from),
            p50,
            p95,
            p99,
            len(latencies),
            dict(self._errors),
            refused_p99=_percentile(self._refusals, 99),
            late_p99=_percentile(self._late, 99),
        )


def _percentile(seconds: Sequence[float], percent: int) -> float:
    """In milliseconds; 0 of fewer than two."""
    if len(seconds) < 2:
        return 0.0
    return 1000 * statistics.quantiles(seconds, n=100, method="inclusive")[percent - 1]


def request_bytes(fields: Mapping[str, str | int]) -> bytes:
    """A whole POST /translate."""
    body = json.dumps(fields).encode()
    head = (
        f"POST /translate HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def run(load: Load) -> Outcome:
    """Put the load on the server."""
    if load.clients:
        return await Run(load).closed(load.clients)
    if load.rate:
        return await Run(load).open(load.rate)
    raise ValueError("neither clients nor a rate")


def put(load: Load) -> Outcome:
    """The same from a process of its own, whose work does not delay the caller's."""
    with start(load) as process:
        return finish(process)


def start(load: Load) -> subprocess.Popen[str]:
    """The process that puts the load; see `finish`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.load"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin  # noqa: S101  (a pipe was asked for)
    process.stdin.write(json.dumps(asdict(load)))
    process.stdin.close()
    process.stdin = None
    return process


def finish(process: subprocess.Popen[str]) -> Outcome:
    """Wait for it. Raises `RuntimeError`."""
    printed, _ = process.communicate()
    if process.returncode:
        raise RuntimeError("the load could not be put")
    return Outcome(**json.loads(printed))


def main() -> None:
    """A `Load` as JSON on standard input, an `Outcome` on standard output."""
    load = Load(**json.load(sys.stdin))
    os.nice(load.niceness)
    outcome = uvloop.run(run(load))
    json.dump(asdict(outcome), sys.stdout)


if __name__ == "__main__":
    main()
