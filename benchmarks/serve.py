"""Serving under load: attend, CTranslate2 behind a micro-batcher, and LibreTranslate.

python -m benchmarks.serve --sentences tatoeba.test.tsv
python -m benchmarks.serve --libretranslate /path/to/a/python/with/libretranslate
"""

import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import click

from benchmarks.libretranslate_server import libretranslate_servers
from benchmarks.load import Load, Outcome, put
from benchmarks.options import (
    Setup,
    beam_option,
    benchmark,
    peers_option,
    rounds_option,
    setup_options,
    work_option,
)
from benchmarks.report import Cell
from benchmarks.server import Running, ctranslate2_servers, request_fields, running
from model.checkpoint.config import read_config

COLUMNS = {
    "Load": "", "System": "", "Threads": "", "Requests/s": ",.1f", "p50 ms": ",.1f",
    "p95 ms": ",.1f", "p99 ms": ",.1f", "Errors": ",d", "Rate ×": ".2f", "p95 ×": ".2f",
}  # fmt: skip
NOTES = (
    "One sentence per request; medians of the rounds. `Rate ×` and `p95 ×` are attend's over the "
    "system's, the median of the rounds' ratios: higher is better for the first, lower for the "
    "second.",
)


def measure(servers: Sequence[Running], load: Load, rounds: int) -> list[list[Outcome]]:
    """Measure all servers in turn, in an order that changes every round."""
    outcomes: list[list[Outcome]] = [[] for _ in servers]
    order = list(range(len(servers)))
    for seed in range(rounds):
        for index in order:
            server = servers[index].server
            one = replace(load, port=servers[index].port, seed=seed, text_field=server.text_field)
            outcomes[index].append(put(one))
        order.reverse()
    return outcomes


def rows_of(
    label: str, servers: Sequence[Running], outcomes: Sequence[Sequence[Outcome]]
) -> Iterator[dict[str, Cell]]:
    """Yield a row per server; the others are compared with the first."""
    for running_one, theirs in zip(servers, outcomes, strict=True):
        pairs = list(zip(outcomes[0], theirs, strict=True))
        yield {
            "Load": label,
            "System": running_one.server.name,
            "Threads": running_one.server.threads,
            "Requests/s": statistics.median(one.per_second for one in theirs),
            "p50 ms": statistics.median(one.p50 for one in theirs),
            "p95 ms": statistics.median(one.p95 for one in theirs),
            "p99 ms": statistics.median(one.p99 for one in theirs),
            "Errors": sum(sum(one.errors.values()) for one in theirs),
            "Rate ×": statistics.median(a.per_second / b.per_second for a, b in pairs),
            "p95 ×": statistics.median(a.p95 / b.p95 for a, b in pairs),
        }


@benchmark
@setup_options
@click.option(
    "--clients", type=click.IntRange(1), multiple=True, default=(1, 8, 32, 128), help="Closed loop."
)
@click.option(
    "--fraction",
    "fractions",
    type=click.FloatRange(0, min_open=True),
    multiple=True,
    default=(0.5, 0.8),
    help="Open loop: rates as fractions of the best peer's closed-loop rate.",
)
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=10.0)
@click.option("--warm-up", type=click.FloatRange(0), default=1.0)
@rounds_option(3)
@beam_option
@peers_option
@click.option("--closed-only", is_flag=True, help="Skip the open loop.")
@click.option("--libretranslate", help="Python with LibreTranslate, to compare it too.")
@work_option
def main(
    setup: Setup,
    *,
    clients: Sequence[int],
    fractions: Sequence[float],
    seconds: float,
    warm_up: float,
    rounds: int,
    beam: int,
    peers: bool,
    closed_only: bool,
    libretranslate: str | None,
    work: Path,
) -> None:
    """Compare throughput and latency of attend, CTranslate2 and LibreTranslate."""
    checkpoint = setup.checkpoint
    servers = [setup.server()]
    if peers:
        servers += ctranslate2_servers(checkpoint, work, setup.threads, beam)
    if libretranslate:
        servers += libretranslate_servers(libretranslate, checkpoint, work, setup.threads, beam)
    rows: list[dict[str, Cell]] = []
    most = 0.0
    with ExitStack() as stack:
        started = [stack.enter_context(running(server)) for server in servers]
        fields = request_fields(checkpoint, beam)
        load = Load(0, setup.texts(), fields, seconds=seconds, warm_up=warm_up)
        for n_clients in clients:
            closed = replace(load, clients=n_clients)
            outcomes = measure(started, closed, rounds)
            peers_or_ours = outcomes[1:] or outcomes
            most = max(most, *(one.per_second for theirs in peers_or_ours for one in theirs))
            rows += rows_of(closed.label, started, outcomes)
        for fraction in () if closed_only else fractions:
            arrivals = replace(load, rate=fraction * most)
            outcomes = measure(started, arrivals, rounds)
            rows += rows_of(f"{arrivals.label} ({fraction:.0%})", started, outcomes)
    name = read_config(checkpoint).name
    settings: dict[str, Cell] = {"beam": beam, "rounds": rounds, "seconds": seconds}
    setup.publish("serve", f"Serving: {name}, beam {beam}", COLUMNS, rows, NOTES, **settings)


if __name__ == "__main__":
    main()
