"""The torch engine against the reference, one batch after the other, with clients in a closed loop.

python -m benchmarks.in_flight                    the shipped checkpoint, 32 clients, on the CPU
python -m benchmarks.in_flight --device cuda:0
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click
import torch

from app.cli.options import search_options
from benchmarks.decode import natural_sources
from benchmarks.options import (
    beam_option,
    benchmark,
    checkpoint_option,
    json_option,
    rounds_option,
    sentences_option,
    threads_option,
)
from benchmarks.report import Cell, Report, publish
from benchmarks.sentences import read_sentences
from benchmarks.system import Ids
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import load_checkpoint
from model.engine.build import build_engines
from model.engine.eager import EagerEngine
from model.engine.protocol import Engine, Finished, Job

COLUMNS = {
    "Engine": "", "Sentences/s": ",.1f", "CPU s": ".1f", "Reference needs": ".2f", "Same": ".1%",
}  # fmt: skip
NOTES = (
    "Each client sends its next sentence as soon as it has an answer. Medians of the rounds. "
    "`CPU s`: processor time. `Reference needs`: how many times the engine's processor time, on a "
    "GPU its time, the median of the rounds' ratios. `Same`: sentences with the reference's ids.",
)


class Round(NamedTuple):
    """What an engine needed for all sentences, and what it found."""

    seconds: float
    cpu_seconds: float
    found: dict[int, Ids]


def closed_loop(engine: Engine, jobs: Sequence[Job], n_clients: int) -> Round:
    """Run all jobs, as many at a time as there are clients and room."""
    waiting = list(reversed(jobs))
    finished: list[Finished] = []
    began, cpu_began = time.perf_counter(), time.process_time()
    while len(finished) < len(jobs):
        while waiting and len(jobs) - len(waiting) - len(finished) < n_clients:
            if not engine.room(waiting[-1]):
                break
            engine.admit([waiting.pop()])
        finished += engine.step()
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    found: dict[int, Ids] = {}
    for job_id, outcome in finished:
        if isinstance(outcome, Exception):
            raise outcome
        found[job_id] = outcome[0].ids
    return Round(seconds, cpu_seconds, found)


@benchmark
@checkpoint_option
@sentences_option
@click.option("--count", type=click.IntRange(1), default=192)
@click.option("--clients", type=click.IntRange(1), default=32)
@beam_option
@rounds_option(5)
@threads_option
@click.option("--device", default="cpu", help="cpu, cuda:0, …")
@json_option
def main(
    *,
    checkpoint: Path,
    sentences: Path,
    count: int,
    clients: int,
    beam: int,
    rounds: int,
    threads: int,
    device: str,
    json_file: Path | None,
) -> None:
    """Compare the torch engine with the reference, both in float32 and by turns."""
    torch.set_num_threads(threads)
    loaded = load_checkpoint(checkpoint)
    config = loaded.config
    options = search_options(config, beam)
    sources = natural_sources(loaded, read_sentences(sentences, count))
    jobs = [Job(index, ids, options) for index, ids in enumerate(sources)]
    placed = "cpu:0" if device == "cpu" else device
    [ours] = build_engines(loaded, "fp32", threads, devices=(placed,))
    reference = EagerEngine(load_model(loaded, device))
    for engine in (ours, reference):
        closed_loop(engine, jobs[:2], clients)
    pairs: list[tuple[Round, Round]] = []
    for index in range(rounds):
        order = [ours, reference][:: 1 if index % 2 else -1]
        done = {id(engine): closed_loop(engine, jobs, clients) for engine in order}
        pairs.append((done[id(ours)], done[id(reference)]))
        click.echo(f"round {index + 1} of {rounds}: {_ratio(*pairs[-1], device):.2f}")
    expected = pairs[0][1].found
    rows: list[dict[str, object]] = []
    for place, name in enumerate(("torch", "reference")):
        mine = [pair[place] for pair in pairs]
        rows.append({
            "Engine": name,
            "Sentences/s": len(jobs) / statistics.median(one.seconds for one in mine),
            "CPU s": statistics.median(one.cpu_seconds for one in mine),
            "Reference needs": statistics.median(_ratio(one, pair[1], device)
                                                 for one, pair in zip(mine, pairs, strict=True)),
            "Same": statistics.fmean(mine[0].found[index] == expected[index] for index in expected),
        })  # fmt: skip
    settings: dict[str, Cell] = {
        "sentences": f"{count} of {sentences.name}",
        "clients": clients,
        "beam": beam,
        "threads": threads,
        "device": device,
        "rounds": rounds,
    }
    title = f"In flight against one batch after the other: {config.name}, float32"
    publish(Report("in_flight", title, settings, COLUMNS, rows, NOTES), json_file)


def _ratio(ours: Round, reference: Round, device: str) -> float:
    if device == "cpu":
        return reference.cpu_seconds / ours.cpu_seconds
    return reference.seconds / ours.seconds


if __name__ == "__main__":
    main()
