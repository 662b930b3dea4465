"""Decoding speed: attend and CTranslate2 on the same weights."""

import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice, product
from pathlib import Path

import click
import torch

from benchmarks.options import (
    Setup,
    benchmark,
    grouped,
    peers_option,
    rounds_option,
    setup_options,
    work_option,
)
from benchmarks.report import Cell
from benchmarks.system import Answer, Attend, Ids, System, Task
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.build import build_engines

SETTLE = 0.2
"""Seconds between two systems, until the threads of the previous one stop spinning."""

SYMBOLS = 2
"""Tokens of a source that are not its text: the target language and the end."""

COLUMNS = {
    "Beam": "d", "Batch": "d", "System": "", "Threads": "", "Tokens/s": ",.0f",
    "from": ",.0f", "to": ",.0f", "Sentences/s": ",.1f", "attend is": ".2f", "Same": ".1%",
    "Apart": "", "Ended": ".0%",
}  # fmt: skip
NOTES = (
    "Medians of the rounds; `from` and `to` are the slowest and the fastest. `attend is`: how many "
    "times as fast, the median of the rounds' ratios. `Same`: sentences with attend's token ids. "
    "`Apart`: tokens by which a translation is longer or shorter than its source, the mean (the "
    "median, nine tenths are at most). `Ended`: sentences that end before the limit.",
)


@dataclass(frozen=True)
class Timing:
    """A system's rounds of one task."""

    system: System
    answers: Sequence[Answer]

    @property
    def rates(self) -> list[float]:
        return [answer.n_tokens / answer.seconds for answer in self.answers]


def natural_sources(checkpoint: Checkpoint, sentences: Sequence[str]) -> list[Ids]:
    """Encode the sentences in the checkpoint's first direction."""
    source, target = checkpoint.config.directions[0]
    return [tuple(checkpoint.tokenizer.source_ids(one, target, source)) for one in sentences]


def measure(systems: Sequence[System], task: Task, rounds: int) -> list[Timing]:
    """Warm up, then run all systems in turn, in an order that alternates between rounds."""
    suited = [system for system in systems if system.suits(task)]
    answers: dict[int, list[Answer]] = defaultdict(list)
    warm_up = Task(task.sources[: task.batch + 1], task.options, task.batch)
    for system in suited:
        system.answer(warm_up)
    order = list(enumerate(suited))
    for _ in range(rounds):
        for index, system in order:
            time.sleep(SETTLE)
            answers[index].append(system.answer(task))
        order.reverse()
    return [Timing(system, answers[index]) for index, system in enumerate(suited)]


def best_of_each(timings: Sequence[Timing]) -> list[Timing]:
    """Return the timing with the highest median of each name."""
    best: dict[str, Timing] = {}
    for timing in timings:
        rival = best.get(timing.system.name)
        if rival is None or statistics.median(timing.rates) > statistics.median(rival.rates):
            best[timing.system.name] = timing
    return list(best.values())


def rows_of(task: Task, timings: Sequence[Timing]) -> Iterator[dict[str, object]]:
    """Yield a row per system; the others are compared with the first."""
    ours = timings[0]
    for timing in timings:
        pairs = zip(ours.rates, timing.rates, strict=True)
        targets = zip(ours.answers[0].targets, timing.answers[0].targets, strict=True)
        seconds = statistics.median(answer.seconds for answer in timing.answers)
        yield {
            "Beam": task.options.beam_size,
            "Batch": task.batch,
            "System": timing.system.name,
            "Threads": timing.system.threads,
            "Tokens/s": statistics.median(timing.rates),
            "from": min(timing.rates),
            "to": max(timing.rates),
            "Sentences/s": len(task.sources) / seconds,
            "attend is": statistics.median(one / other for one, other in pairs),
            "Same": statistics.fmean(one == other for one, other in targets),
            "Apart": describe_lengths(task.sources, timing.answers[0].targets),
            "Ended": statistics.fmean(timing.answers[0].ended),
            "rates": timing.rates,
        }


def describe_lengths(sources: Sequence[Ids], targets: Sequence[Ids]) -> str:
    """State how far the lengths of targets are from their sources': mean (median, nine tenths)."""
    distances = sorted(
        abs(len(target) - (len(source) - SYMBOLS))
        for source, target in zip(sources, targets, strict=True)
    )
    high = distances[9 * (len(distances) - 1) // 10]
    return f"{statistics.fmean(distances):.1f} ({statistics.median_low(distances)}, {high})"


@dataclass(frozen=True)
class Batches:
    """The values of `batch_options`."""

    count: int
    batches_each: int
    batches: Sequence[int]
    beams: Sequence[int]

    @property
    def settings(self) -> dict[str, Cell]:
        return {"count": self.count, "batches of each thread": self.batches_each}

    def n_sentences(self, batch: int, threads: int) -> int:
        """Return the number of sentences of a round: `count`, and enough for every thread."""
        if batch == 1:
            return -(-self.count // 4)
        return max(self.count, self.batches_each * threads * batch)

    def most(self, threads: int) -> int:
        """Return the largest number of sentences of a round."""
        return max(self.n_sentences(batch, threads) for batch in self.batches)

    def rows(
        self,
        systems: Sequence[System],
        sources: Sequence[Ids],
        options: SearchOptions,
        rounds: int,
        threads: int,
    ) -> Iterator[dict[str, object]]:
        """Measure every beam and batch size, with the best configuration of each system."""
        for beam, batch in product(self.beams, self.batches):
            n = self.n_sentences(batch, threads)
            task = Task(list(islice(cycle(sources), n)), replace(options, beam_size=beam), batch)
            yield from rows_of(task, best_of_each(measure(systems, task, rounds)))


batch_options = grouped(
    Batches, "batches",
    click.option(
        "--count", type=click.IntRange(1), default=192,
        help="Minimum sentences per round; a quarter of them for batch 1.",
    ),
    click.option(
        "--batches-each", type=click.IntRange(1), default=8,
        help="Minimum batches per thread: with one or two, some idle while others finish.",
    ),
    click.option("--batch", "batches", type=click.IntRange(1), multiple=True, default=(1, 16, 64)),
    click.option("--beam", "beams", type=click.IntRange(1), multiple=True, default=(1, 4)),
)  # fmt: skip


@benchmark
@setup_options
@batch_options
@rounds_option(5)
@peers_option
@work_option
def main(setup: Setup, *, batches: Batches, rounds: int, peers: bool, work: Path) -> None:
    """Compare attend and CTranslate2 in target tokens per second."""
    loaded = load_checkpoint(setup.checkpoint)
    sources = natural_sources(loaded, setup.texts(batches.most(setup.threads)))
    torch.set_num_threads(setup.threads)
    systems: list[System] = [Attend(build_engines(loaded, setup.precision, setup.threads))]
    if peers:
        from benchmarks.peers import make_peers

        systems += make_peers(loaded, work, setup.threads, setup.precision)
    options = SearchOptions(
        length_penalty=loaded.config.length_penalty, rule=loaded.config.search_rule
    )
    rows = list(batches.rows(systems, sources, options, rounds, setup.threads))
    settings: dict[str, Cell] = {**batches.settings, "rounds": rounds}
    title = f"Decoding: {loaded.config.name}"
    setup.publish("decode", title, COLUMNS, rows, NOTES, **settings)


if __name__ == "__main__":
    main()
