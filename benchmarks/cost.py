"""The cost of a request in core seconds, by the length of its sentence.

python -m benchmarks.cost --sentences FILE

Unlike throughput, processor time does not depend on other load on the machine, and it excludes the
client. docs/deploy.md derives the number of replicas from it.
"""

from __future__ import annotations

import http.client
import statistics
from collections.abc import Sequence
from dataclasses import replace

import click
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.connection import HOST
from benchmarks.load import Load, put
from benchmarks.options import Setup, benchmark, setup_options
from benchmarks.report import Cell, Report
from benchmarks.server import Running, request_fields, running

COLUMNS = {
    "Beam": "", "Text": "", "Requests": ",", "Target tokens": ".1f", "Core ms": ".2f",
    "a + b n": ".2f", "Per core and s": ",.0f",
}  # fmt: skip
WORDS = ((1, 5), (6, 10), (11, 20), (21, 40))
"""Sentences are grouped by their number of words."""

PAGE = 30
"""Consecutive sentences per longer text."""

CLIENTS = 32
LIMIT = 3600.0
"""Maximum seconds for the requests."""


class Usage:
    """A server's usage so far, from its own metrics."""

    def __init__(self, server: Running) -> None:
        connection = http.client.HTTPConnection(HOST, server.port, timeout=10)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        samples = {
            sample.name: sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if not sample.labels
        }
        self.core_seconds = samples["process_cpu_seconds_total"]
        self.target_tokens = samples["attend_tokens_generated_total"]


def measure(server: Running, load: Load) -> tuple[int, float, float]:
    """Return the number of answered requests, and mean target tokens and core seconds of each."""
    before = Usage(server)
    outcome = put(replace(load, port=server.port))
    after = Usage(server)
    if outcome.errors:
        raise RuntimeError(f"not all requests were answered: {outcome.errors}")
    n_requests = outcome.answered
    tokens = (after.target_tokens - before.target_tokens) / n_requests
    return n_requests, tokens, (after.core_seconds - before.core_seconds) / n_requests


def by_length(sentences: Sequence[str]) -> dict[str, list[str]]:
    """Group sentences by the rows of `WORDS`; rows without any are omitted."""
    found = {
        f"{fewest}–{most} words": [one for one in sentences if fewest <= len(one.split()) <= most]
        for fewest, most in WORDS
    }
    return {text: some for text, some in found.items() if some}


def pages(sentences: Sequence[str]) -> list[str]:
    """Join sentences into texts of `PAGE` sentences each."""
    return [" ".join(sentences[at : at + PAGE]) for at in range(0, len(sentences), PAGE)]


@benchmark
@setup_options
@click.option("--requests", type=click.IntRange(2), default=1000)
def main(setup: Setup, *, requests: int) -> None:
    """Measure core seconds per request, and fit the line a + b n to those of one sentence."""
    several = setup.texts()
    groups, long = by_length(several), pages(several)
    if len(groups) < 2:
        raise click.ClickException(f"{setup.sentences}: a line needs sentences of two lengths")
    rows: list[dict[str, Cell]] = []
    notes = []
    with running(setup.server()) as server:
        for beam in (1, 4):
            load = Load(
                port=0, texts=[], fields=request_fields(setup.checkpoint, beam), clients=CLIENTS,
                seconds=LIMIT, warm_up=0, requests=requests,
            )  # fmt: skip
            found = {
                text: measure(server, replace(load, texts=some)) for text, some in groups.items()
            }
            slope, base = statistics.linear_regression(
                [tokens for _, tokens, _ in found.values()],
                [seconds for _, _, seconds in found.values()],
            )
            notes.append(
                f"Beam {beam}: a is {1e3 * base:.2f} ms, b {1e6 * slope:.0f} µs a target token."
            )
            paged = replace(load, texts=long, requests=max(2, requests // PAGE))
            found[f"{PAGE} sentences"] = measure(server, paged)
            rows += [
                {
                    "Beam": beam, "Text": text, "Requests": n_requests, "Target tokens": tokens,
                    "Core ms": 1e3 * seconds, "a + b n": 1e3 * (base + slope * tokens),
                    "Per core and s": 1 / seconds,
                }
                for text, (n_requests, tokens, seconds) in found.items()
            ]  # fmt: skip
    settings: dict[str, Cell] = {
        "checkpoint": setup.checkpoint.name,
        "sentences": setup.sentences.name,
        "precision": setup.precision,
        "threads": setup.threads,
        "clients": CLIENTS,
    }
    title = f"Cost of a request: {setup.checkpoint.name}"
    setup.publish(Report("cost", title, settings, COLUMNS, rows, tuple(notes)))


if __name__ == "__main__":
    main()
