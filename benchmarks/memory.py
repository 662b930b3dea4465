"""Memory of a server process, and its start time; or memory of the engine alone.

python -m benchmarks.memory
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from benchmarks.checkpoints import ctranslate2_folder
from benchmarks.decode import natural_sources
from benchmarks.load import Load, put
from benchmarks.options import (
    Setup,
    beam_option,
    benchmark,
    peers_option,
    setup_options,
    work_option,
)
from benchmarks.peers import pieces_of
from benchmarks.report import Cell
from benchmarks.resident import BATCH
from benchmarks.server import Server, ctranslate2_servers, request_fields, running
from model.checkpoint.config import WEIGHTS_FILE
from model.checkpoint.reader import load_checkpoint

COLUMNS = {
    "System": "", "Threads": "", "Ready s": ".2f", "Resident MB": ",.0f", "after": ",.0f",
    "peak": ",.0f",
}  # fmt: skip
NOTES = (
    "`Ready s`: from exec to the first 200 of /readyz, the median of the starts. Resident memory "
    "(with shared libraries) when ready, `after` the requests, and at its maximum.",
)
ENGINE_COLUMNS = {"System": "", "Loaded MB": ",.0f", "one sentence": ",.0f", "all": ",.0f"}
ENGINE_NOTES = (
    "Resident memory (with shared libraries) of a process that has the engine alone, in int8: when "
    f"the model is loaded, after a sentence, and after {BATCH} sentences for each thread.",
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


def engine_row(
    name: str, folder: Path, sources: Sequence[Sequence[object]], threads: int, beam: int
) -> dict[str, Cell]:
    """Measure a row of `benchmarks.resident`."""
    settings = {"folder": str(folder), "sources": sources, "threads": threads, "beam": beam}
    command = [sys.executable, "-m", "benchmarks.resident", name]
    printed = subprocess.run(
        command, input=json.dumps(settings), stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    megabytes = [int(line) / 1e6 for line in printed.split()]
    return dict(zip(ENGINE_COLUMNS, [name, *megabytes], strict=True))


def engine_rows(setup: Setup, beam: int, work: Path, peers: bool) -> list[dict[str, Cell]]:
    """Measure the engine, and CTranslate2's with the same sentences."""
    checkpoint = load_checkpoint(setup.checkpoint)
    sources = natural_sources(checkpoint, setup.texts(BATCH * setup.threads))
    rows = [engine_row("attend", checkpoint.folder, sources, setup.threads, beam)]
    if peers:
        folder, piece = ctranslate2_folder(checkpoint, work), pieces_of(checkpoint, work)
        pieces = [[piece[one] for one in ids] for ids in sources]
        rows.append(engine_row("ctranslate2", folder, pieces, setup.threads, beam))
    return rows


@benchmark
@setup_options
@click.option("--engine", is_flag=True, help="Only the engine, without a server.")
@click.option("--requests", type=click.IntRange(2), default=1000)
@click.option("--starts", type=click.IntRange(1), default=5)
@beam_option
@peers_option
@work_option
def main(
    setup: Setup, *, engine: bool, requests: int, starts: int, beam: int, peers: bool, work: Path
) -> None:
    """Measure resident memory after the start and after requests, and seconds until ready."""
    if engine:
        title = f"Memory of the engine: {setup.checkpoint.name}"
        rows = engine_rows(setup, beam, work, peers)
        setup.publish("memory", title, ENGINE_COLUMNS, rows, ENGINE_NOTES, beam=beam)
        return
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
