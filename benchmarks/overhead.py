"""The time that HTTP, queue and scheduler add to the engine's, per request.

The server has an engine that computes nothing and takes a known time: one step per source token.
The overhead is the client's latency minus the time of the same engine driven directly. Half a step
of it is due to the engine, because a new request waits for the current step.

    python -m benchmarks.overhead
"""

import time
from dataclasses import replace
from pathlib import Path

import click

from benchmarks.engine_server import serving
from benchmarks.engines import CountingEngine
from benchmarks.load import Load, put
from benchmarks.options import benchmark, checkpoint_option, json_option
from benchmarks.report import Cell, Report, publish
from benchmarks.server import request_fields
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Job

TEXT = "The weather was so nice yesterday that we went to the sea with our old friends."
LOADS = ((1, 0.0005), (32, 0.002), (32, 0.0))
"""Clients, seconds per step. The last measures the throughput of HTTP alone."""

COLUMNS = {
    "Clients": "d", "Step, ms": ".3f", "Requests/s": ",.0f", "Added ms: p50": ".2f", "p95": ".2f",
    "p99": ".2f",
}  # fmt: skip


def step_seconds(nominal: float, n_steps: int = 500) -> float:
    """Return the seconds per step of an engine that is driven directly."""
    engine = CountingEngine(nominal)
    engine.admit([Job(0, (1,) * n_steps, SearchOptions())])
    began = time.perf_counter()
    while engine.busy:
        engine.step()
    return (time.perf_counter() - began) / n_steps


@benchmark
@checkpoint_option
@click.option("--seconds", type=float, default=10.0, help="Duration of each load.")
@json_option
def main(*, checkpoint: Path, seconds: float, json_file: Path | None) -> None:
    """Measure what the server adds to the time of an engine."""
    loaded = load_checkpoint(checkpoint)
    n_steps = len(loaded.tokenizer.source_ids(TEXT, loaded.config.directions[0][1]))
    load = Load(0, [TEXT], request_fields(checkpoint, 4), seconds=seconds, warm_up=seconds / 5)
    rows: list[dict[str, Cell]] = []
    for clients, nominal in LOADS:
        step = step_seconds(nominal)
        engine = CountingEngine(nominal)
        with serving(checkpoint, lambda _: [engine]) as port:  # noqa: B023  (forks at once)
            outcome = put(replace(load, port=port, clients=clients))
        engine_ms = 1000 * n_steps * step
        rows.append(
            {
                "Clients": clients,
                "Step, ms": 1000 * step,
                "Requests/s": outcome.per_second,
                "Added ms: p50": outcome.p50 - engine_ms,
                "p95": outcome.p95 - engine_ms,
                "p99": outcome.p99 - engine_ms,
            }
        )
    settings: dict[str, Cell] = {"checkpoint": loaded.config.name, "seconds": seconds}
    publish(Report("overhead", "Overhead of the server", settings, COLUMNS, rows), json_file)


if __name__ == "__main__":
    main()
