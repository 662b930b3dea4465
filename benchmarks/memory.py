"""Memory of a server process, and its start time.

python -m benchmarks.memory
"""

import statistics
from dataclasses import replace
from pathlib import Path

import click

from benchmarks.load import Load, put
from benchmarks.options import (
    Setup,
    beam_option,
    benchmark,
    peers_option,
    setup_options,
    work_option,
)
from benchmarks.report import Cell
from benchmarks.server import Server, ctranslate2_servers, request_fields, running
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


@benchmark
@setup_options
@click.option("--requests", type=click.IntRange(2), default=1000)
@click.option("--starts", type=click.IntRange(1), default=5)
@beam_option
@peers_option
@work_option
def main(setup: Setup, *, requests: int, starts: int, beam: int, peers: bool, work: Path) -> None:
    """Measure resident memory after the start and after requests, and seconds until ready."""
    servers = [setup.server()]
    if peers:
        servers += ctranslate2_servers(setup.checkpoint, work, setup.threads, beam)
    fields = request_fields(setup.checkpoint, beam)
    load = Load(0, setup.texts(), fields, CLIENTS, seconds=LIMIT, warm_up=0, requests=requests)
    rows = [measure(server, load, starts) for server in servers]
    settings: dict[str, Cell] = {
        "weights_mb": round((setup.checkpoint / WEIGHTS_FILE).stat().st_size / 1e6, 1),
        "requests": requests, "clients": CLIENTS, "beam": beam, "starts": starts,
    }  # fmt: skip
    title = f"Memory and start: {setup.checkpoint.name}"
    setup.publish("memory", title, COLUMNS, rows, NOTES, **settings)


if __name__ == "__main__":
    main()
