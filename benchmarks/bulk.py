"""The cost of a text of 200 kB and of a list of 10,000 texts, for the server and other clients.

python -m benchmarks.bulk --sentences tatoeba.test.tsv
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice

import click
import httpx

from benchmarks.connection import HOST
from benchmarks.equality import answered
from benchmarks.load import Load, Outcome, finish, put, start
from benchmarks.options import Setup, benchmark, setup_options
from benchmarks.report import Cell, Report
from benchmarks.server import Server, running
from model.checkpoint.config import read_config

TIMEOUT = 600.0
CLIENTS = 32
COLUMNS = {
    "Meanwhile": "", "Texts": ",d", "Characters": ",d", "Requests": ",d", "Seconds each": ".1f",
    "Other answers": ",d", "Resident MB": ",.0f", "peak": ",.0f", "after": ",.0f", "p50 ms": ",.1f",
    "p95 ms": ",.1f", "p99 ms": ",.1f", "Errors": ",d",
}  # fmt: skip
NOTES = (
    "Single sentences at random times, during consecutive large requests; p50 to p99 and `Errors` "
    "are of the single sentences. `Other answers`: lines of the large requests whose translation "
    "differs from that of the line alone. Resident memory before, at most and after.",
)


@dataclass(frozen=True)
class Bulk:
    """A large request: its lines, as a text or as a list of texts."""

    name: str
    lines: Sequence[str]
    is_list: bool

    @property
    def text(self) -> str | list[str]:
        """The `text` field of the request."""
        return list(self.lines) if self.is_list else "\n".join(self.lines)

    def n_other(self, translations: Sequence[str], wanted: dict[str, str]) -> int:
        """Count lines translated differently than alone; all, if the number of lines differs."""
        found = translations if self.is_list else translations[0].split("\n")
        if len(found) != len(self.lines):
            return len(self.lines)
        return sum(wanted[line] != one for line, one in zip(self.lines, found, strict=True))


@dataclass(frozen=True)
class Sent:
    """The outcome of large requests: seconds of each, and lines with other answers."""

    seconds: Sequence[float]
    n_other: int


def long_text(sentences: Sequence[str], n_characters: int) -> Bulk:
    """Repeat the sentences, one per line, up to so many characters."""
    lines: list[str] = []
    left = n_characters
    for line in cycle(sentences):
        left -= len(line) + 1
        if left < -1:
            break
        lines.append(line)
    return Bulk(f"a text of {n_characters:,} characters", lines, is_list=False)


def long_list(sentences: Sequence[str], n: int) -> Bulk:
    """Repeat the sentences, one per text, up to so many texts."""
    return Bulk(f"a list of {n:,} texts", list(islice(cycle(sentences), n)), is_list=True)


def send(bulk: Bulk, load: Load, wanted: dict[str, str]) -> tuple[Sent, Outcome]:
    """Send large requests consecutively during the load; at least one."""
    seconds: list[float] = []
    n_other = 0
    body = {"text": bulk.text, **load.fields}
    with httpx.Client(timeout=TIMEOUT) as client, start(load) as process:
        while not seconds or process.poll() is None:
            began = time.perf_counter()
            response = client.post(f"http://{HOST}:{load.port}/translate", json=body)
            seconds.append(time.perf_counter() - began)
            translations = response.raise_for_status().json()["translations"]
            n_other += bulk.n_other([one["text"] for one in translations], wanted)
        return Sent(seconds, n_other), finish(process)


def measure(server: Server, bulk: Bulk | None, load: Load) -> dict[str, Cell]:
    """Measure a row. Each sentence is first requested alone."""
    fields = {name: str(value) for name, value in load.fields.items()}
    with running(server) as one:
        load = replace(load, port=one.port)
        texts = list(dict.fromkeys(load.texts))
        alone = asyncio.run(answered(one.port, texts, fields, CLIENTS))
        before = one.resident()
        row: dict[str, Cell] = {"Meanwhile": "nothing else"}
        if bulk is None:
            outcome = put(load)
        else:
            sent, outcome = send(bulk, load, dict(zip(texts, alone, strict=True)))
            row = {
                "Meanwhile": bulk.name,
                "Texts": len(bulk.lines) if bulk.is_list else 1,
                "Characters": sum(map(len, bulk.text)),
                "Requests": len(sent.seconds),
                "Seconds each": statistics.median(sent.seconds),
                "Other answers": sent.n_other,
            }
        after, peak = one.resident(), one.resident_peak()
    return row | {
        "Resident MB": before / 1e6,
        "peak": peak / 1e6,
        "after": after / 1e6,
        "p50 ms": outcome.p50,
        "p95 ms": outcome.p95,
        "p99 ms": outcome.p99,
        "Errors": sum(outcome.errors.values()),
    }


@benchmark
@setup_options
@click.option("--characters", type=click.IntRange(1), default=200_000)
@click.option("--texts", type=click.IntRange(1), default=10_000)
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    default=20.0,
    help="Single sentences per second.",
)
@click.option("--seconds", default=20.0, help="Duration of each row.")
def main(setup: Setup, *, characters: int, texts: int, rate: float, seconds: float) -> None:
    """Measure latencies of single sentences during large requests, memory, and correctness."""
    source, target = read_config(setup.checkpoint).directions[0]
    lines = setup.texts()
    load = Load(
        port=0,
        texts=lines,
        fields={"source": source, "target": target},
        rate=rate,
        seconds=seconds,
    )
    server = setup.server()
    bulks = (None, long_text(lines, characters), long_list(lines, texts))
    rows = [measure(server, bulk, load) for bulk in bulks]
    settings: dict[str, Cell] = {
        "sentences": setup.sentences.name, "rate": rate, "seconds": seconds,
        "threads": setup.threads, "precision": setup.precision,
    }  # fmt: skip
    title = f"Large requests: {setup.checkpoint.name}"
    setup.publish(Report("bulk", title, settings, COLUMNS, rows, NOTES))
    sys.exit(1 if any(row.get("Other answers") or row["Errors"] for row in rows) else 0)


if __name__ == "__main__":
    main()
