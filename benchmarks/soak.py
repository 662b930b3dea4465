"""Checks that many requests leak neither memory nor places in the queue.

python -m benchmarks.soak --requests 100000
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import click

from benchmarks.load import Load, finish, put, start
from benchmarks.options import Setup, benchmark, setup_options
from benchmarks.report import Cell, Report
from benchmarks.server import Running, request_fields, running

CLIENTS = 32
WARM_UP = 0.1
"""Fraction of the time whose samples are ignored."""

LIMIT = 48 * 3600.0
COLUMNS = {
    "Requests": ",d", "Errors": ",d", "Minutes": ".1f", "Resident MB": ",.1f", "at the end": ",.1f",
    "Growth": ".2%", "per hour": ".2%", "Places free": "",
}  # fmt: skip
NOTES = (
    f"Growth of resident memory after the first {WARM_UP:.0%} of the time, by linear regression. "
    f"`Places free`: afterwards, as many concurrent requests as the server admits ({CLIENTS}) "
    f"were all admitted, so no place was leaked.",
)


@dataclass(frozen=True)
class Growth:
    """A linear regression of memory samples, bytes over seconds."""

    first: float
    last: float
    seconds: float

    @classmethod
    def through(cls, samples: Sequence[tuple[float, int]]) -> Growth:
        """Fit by least squares, without the warm-up; requires at least three samples."""
        began, ended = samples[0][0], samples[-1][0]
        counted = [one for one in samples if one[0] - began >= WARM_UP * (ended - began)]
        times, values = zip(*counted, strict=True)
        slope, offset = statistics.linear_regression(times, values)
        return cls(offset + slope * times[0], offset + slope * times[-1], times[-1] - times[0])

    @property
    def relative(self) -> float:
        """Growth relative to the initial memory."""
        return self.last / self.first - 1

    @property
    def per_hour(self) -> float:
        """Relative growth per hour."""
        return self.relative * 3600 / self.seconds


def watch(server: Running, process: subprocess.Popen[str], every: float) -> list[tuple[float, int]]:
    """Sample resident memory until the process exits."""
    samples = []
    while process.poll() is None:
        samples.append((time.perf_counter(), server.resident()))
        try:
            process.wait(timeout=every)
        except subprocess.TimeoutExpired:
            continue
    return samples


@benchmark
@setup_options
@click.option("--requests", type=click.IntRange(100), default=100_000)
@click.option(
    "--every", type=click.FloatRange(0, min_open=True), default=1.0, help="Seconds between samples."
)
def main(setup: Setup, *, requests: int, every: float) -> None:
    """Send many short greedy requests; check that memory does not grow and no place is leaked."""
    server = setup.server("--max-concurrent-requests", str(CLIENTS))
    texts = sorted(setup.texts(), key=len)
    short = texts[: len(texts) // 2 + 1]
    with running(server) as one:
        load = Load(
            port=one.port,
            texts=short,
            fields=request_fields(setup.checkpoint, beam=1),
            clients=CLIENTS,
            seconds=LIMIT,
            warm_up=0,
            requests=requests,
        )
        began = time.perf_counter()
        with start(load) as process:
            samples = watch(one, process, every)
            outcome = finish(process)
        seconds = time.perf_counter() - began
        after = put(replace(load, requests=2 * CLIENTS))
    growth = Growth.through(samples)
    n_errors = sum(outcome.errors.values())
    row: dict[str, Cell] = {
        "Requests": outcome.answered + n_errors,
        "Errors": n_errors,
        "Minutes": seconds / 60,
        "Resident MB": growth.first / 1e6,
        "at the end": growth.last / 1e6,
        "Growth": growth.relative,
        "per hour": growth.per_hour,
        "Places free": "no" if after.errors else "all",
    }
    settings: dict[str, Cell] = {
        "checkpoint": setup.checkpoint.name,
        "sentences": setup.sentences.name,
        "clients": CLIENTS,
        "threads": setup.threads,
        "samples": len(samples),
    }
    title = f"Soak: {setup.checkpoint.name}, greedy"
    setup.publish(Report("soak", title, settings, COLUMNS, [row], NOTES))
    sys.exit(1 if n_errors or after.errors else 0)


if __name__ == "__main__":
    main()
