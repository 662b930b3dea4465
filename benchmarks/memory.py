"""Memory of a server process, and its start time.

python -m benchmarks.memory
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path

import click

from benchmarks.load import Load, put
from benchmarks.options import (
    beam_option,
    checkpoint_option,
    json_option,
    peers_option,
    precision_option,
    sentences_option,
    threads_option,
    work_option,
)
from benchmarks.report import Cell, Report, publish
from benchmarks.sentences import read_sentences
from benchmarks.server import (
    Server,
    attend_server,
    ctranslate2_servers,
    request_fields,
    running,
)
from model.checkpoint.config import WEIGHTS_FILE

COLUMNS = {
    "System": "", "Threads": "", "Ready s": ".2f", "Resident MB": ",.0f", "after": ",.0f",
    "peak": ",.0f",
}  # fmt: skip
NOTES = (
    "`Ready s`: from exec to the first 200 of /readyz, the median of the starts. Resident memory "
    "(with shared libraries) when ready, `after` the requests, and at its maximum.",
)
CLIENTS = 32
LIMIT = 3600.0
"""Maximum seconds for the requests."""


def measure(server: Server, load: Load, starts: int) -> dict[str, Cell]:
    """Measure a row. Requests are sent after the last start."""
    seconds = []
    for _ in range(starts - 1):
        with running(server) as one:
            seconds.append(one.start)
    with running(server) as one:
        seconds.append(one.start)
        before = one.resident()
        put(replace(load, port=one.port))
        after, peak = one.resident(), one.resident_peak()
    return {
        "System": server.name,
        "Threads": server.threads,
        "Ready s": statistics.median(seconds),
        "Resident MB": before / 1e6,
        "after": after / 1e6,
        "peak": peak / 1e6,
    }


@click.command()
@checkpoint_option
@sentences_option
@click.option("--requests", type=click.IntRange(2), default=1000, show_default=True)
@click.option("--starts", type=click.IntRange(1), default=5, show_default=True)
@beam_option
@threads_option
@precision_option
@peers_option
@work_option
@json_option
def main(
    *,
    checkpoint: Path,
    sentences: Path,
    requests: int,
    starts: int,
    beam: int,
    threads: int,
    precision: str,
    peers: bool,
    work: Path,
    json_file: Path | None,
) -> None:
    """Measure resident memory after the start and after requests, and seconds until ready."""
    servers = [attend_server(checkpoint, threads, precision)]
    if peers:
        servers += ctranslate2_servers(checkpoint, work, threads, beam)
    load = Load(
        port=0,
        texts=read_sentences(sentences),
        fields=request_fields(checkpoint, beam),
        clients=CLIENTS,
        seconds=LIMIT,
        warm_up=0,
        requests=requests,
    )
    rows = [measure(server, load, starts) for server in servers]
    settings: dict[str, Cell] = {
        "checkpoint": checkpoint.name,
        "weights_mb": round((checkpoint / WEIGHTS_FILE).stat().st_size / 1e6, 1),
        "requests": requests,
        "clients": CLIENTS,
        "beam": beam,
        "starts": starts,
    }
    title = f"Memory and start: {checkpoint.name}"
    publish(Report("memory", title, settings, COLUMNS, rows, NOTES), json_file)


if __name__ == "__main__":
    main()
