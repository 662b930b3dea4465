"""Sends many requests to every route of `attend serve`, with reloads, and measures its memory.

    python -m benchmarks.soak [--requests 100000] [--reload-seconds 20]

The exit code is 1 if a request has no answer or one of 500 and above, or if memory grows by more
than `MAX_SLOPE` over the second half.
"""

import asyncio
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import httpx

from benchmarks.clients import ClientPool
from benchmarks.hostile_routes import FREE, MANY_TEXTS, ONE_TEXT, post, raw
from benchmarks.load import HOST
from benchmarks.options import benchmark, checkpoint_option, json_option
from benchmarks.report import Cell, Report, publish
from benchmarks.server import Server, attend_command, free_port, memory, start_at, stop

N_CLIENTS = 16

TIMEOUT = "60"
"""Deadline of a request in seconds."""

N_TEXTS = 300
"""Number of different texts per route."""

MAX_SLOPE = 1_000_000
"""Bytes per thousand requests."""

WITHOUT_LENGTH = ("/translate, stream", "GET /metrics", "OPTIONS /translate", "POST /translate")
"""Requests whose answers have no length, or end the connection."""

COLUMNS = {"Requests": ",", "Reloads": ",", "RSS, MB": ".0f", "Answers": ""}


def requests() -> Iterator[bytes]:
    """Yield requests to all routes in turn, with new texts in each round."""
    for number in range(N_TEXTS):
        text = f"The old house number {number} is green. La maison {number} est verte."
        for name, fields in ONE_TEXT.items():
            if name not in WITHOUT_LENGTH:
                yield post(name, fields(text), TIMEOUT)
        for name, for_texts in MANY_TEXTS.items():
            yield post(name, for_texts([f"a house {number}", text, "12.5"]), TIMEOUT)
        for name in FREE:
            if name not in WITHOUT_LENGTH:
                method, path = name.split()
                yield raw(httpx.Request(method, f"http://{HOST}{path}"))


async def soak(
    pid: int, pool: ClientPool, n_requests: int, pause: float
) -> list[tuple[int, int, int]]:
    """Run clients until `n_requests` are answered → requests, reloads and bytes over time."""
    samples: list[tuple[int, int, int]] = []
    n_reloads, reloaded = 0, time.monotonic()
    async with pool.run(N_CLIENTS, stay=True):
        while (n_sent := pool.statuses.total()) < n_requests:
            samples.append((n_sent, n_reloads, memory(pid, "VmRSS")))
            if time.monotonic() - reloaded > pause:
                os.kill(pid, signal.SIGHUP)
                n_reloads, reloaded = n_reloads + 1, time.monotonic()
            await asyncio.sleep(1)
    return [*samples, (pool.statuses.total(), n_reloads, memory(pid, "VmRSS"))]


@benchmark
@checkpoint_option
@click.option("--requests", "n_requests", type=click.IntRange(1), default=100_000)
@click.option("--reload-seconds", type=click.FloatRange(1), default=20.0, help="Between reloads.")
@json_option
def main(
    *, checkpoint: Path, n_requests: int, reload_seconds: float, json_file: Path | None
) -> None:
    """Soak a server; exit with code 1 unless it answers everything and its memory is stable."""
    port = free_port()
    process = start_at(
        Server("attend serve", "", attend_command(checkpoint)), port, subprocess.DEVNULL
    )
    pool = ClientPool(port, list(requests()))
    try:
        samples = asyncio.run(soak(process.pid, pool, n_requests, reload_seconds))
    finally:
        stop(process)
    second_half = samples[len(samples) // 2 :]
    slope = growth(second_half)
    failed = {status: n for status, n in pool.statuses.items() if not "200" <= status < "500"}
    rows = [row(sample, pool if sample is samples[-1] else None) for sample in _tenths(samples)]
    settings: dict[str, Cell] = {
        "clients": N_CLIENTS, "kB per thousand requests": round(slope / 1000),
        "failed": str(failed),
    }  # fmt: skip
    publish(Report("soak", "Soak", settings, COLUMNS, rows, ()), json_file)
    sys.exit(1 if failed or slope > MAX_SLOPE else 0)


def growth(samples: Sequence[tuple[int, int, int]]) -> float:
    """Return the bytes per thousand requests by which memory grows, by least squares."""
    if len({n for n, _, _ in samples}) < 2:
        return 0.0
    counts, _, sizes = zip(*samples, strict=True)
    return 1000 * statistics.linear_regression(counts, sizes).slope


def row(sample: tuple[int, int, int], pool: ClientPool | None) -> dict[str, Cell]:
    """Return the row of a sample, the last with all answers."""
    n, n_reloads, n_bytes = sample
    statuses = sorted(pool.statuses.items()) if pool else []
    answers = ", ".join(f"{n:,} × {status}" for status, n in statuses)
    return dict(zip(COLUMNS, (n, n_reloads, n_bytes / 1e6, answers), strict=True))


def _tenths(samples: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    step = max(1, len(samples) // 10)
    return [*samples[:-1:step], samples[-1]]


if __name__ == "__main__":
    main()
