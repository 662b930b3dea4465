"""Checks that translations are identical bit for bit, regardless of concurrent sentences.

Also checks that, in float32, they equal those of the reference engine. Exits with code 1 otherwise.

    python -m benchmarks.exactness --sentences tatoeba.test.tsv --rule marian --precision fp32
"""

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, count

import click

from benchmarks.decode import natural_sources
from benchmarks.options import Setup, beam_option, benchmark, setup_options
from benchmarks.report import Cell
from benchmarks.system import Found, LimitedEngine, best
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import HuggingFaceRule, MarianRule, Rule
from model.engine.build import build_engines
from model.engine.eager import EagerEngine
from model.engine.protocol import Engine, Finished, Job
from model.engine.run import run_jobs

TOLERANCE = 1e-4
"""Tolerated difference of a score from the reference."""

RULES: dict[str, Rule | None] = {
    "attend": None,
    "transformers": HuggingFaceRule(),
    "transformers-at-once": HuggingFaceRule(early_stopping=True),
    "transformers-never": HuggingFaceRule("never", renormalise=True),
    "transformers-forced": HuggingFaceRule(force_end=True),
    "marian": MarianRule(unk_id=None),
}

BATCH = 64
COLUMNS = {"Against alone": "", "Sentences": ",d", "Other tokens": ",d", "Other scores": ",d",
           "Largest difference": ".1e"}  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """Differences between two runs; `scores` and `largest` are for sentences with equal tokens.

    scores  sentences whose score or a token's log-probability differs
    """

    sentences: int
    tokens: int
    scores: int
    largest: float

    @classmethod
    def between(cls, one: Found, other: Found) -> "Difference":
        pairs = [(one[job_id], other[job_id]) for job_id in one.keys() | other.keys()]
        same = [(a, b) for a, b in pairs if (a.ids, a.capped) == (b.ids, b.capped)]
        largest = max((abs(a.score - b.score) for a, b in same), default=0.0)
        return cls(len(pairs), len(pairs) - len(same), sum(a != b for a, b in same), largest)

    def row(self, run: str) -> dict[str, Cell]:
        values = (run, self.sentences, self.tokens, self.scores, self.largest)
        return dict(zip(COLUMNS, values, strict=True))


def batched(engines: Sequence[Engine], jobs: Sequence[Job], n: int = BATCH) -> Found:
    """Run batches of n sentences, which others join as some finish."""
    return best(run_jobs([LimitedEngine(engine, n) for engine in engines], jobs))


def arriving(engine: Engine, jobs: Sequence[Job], seed: int) -> Found:
    """Run in random order at random times, with other jobs, some of which are cancelled."""
    choose = random.Random(seed)
    waiting = choose.sample(jobs, len(jobs))
    strangers = count(-1, -1)
    inside: set[int] = set()
    found: list[Finished] = []
    while waiting or inside:
        for _ in range(choose.choice((0, 0, 1, 2, 9))):
            if not waiting:
                break
            job = waiting[-1]
            if choose.random() < 0.3:
                other = SearchOptions(
                    choose.randint(1, 6), length_penalty=1.0, rule=choose.choice([*RULES.values()])
                )
                job = replace(choose.choice(jobs), id=next(strangers), options=other)
            if not engine.can_admit(job):
                break
            if job is waiting[-1]:
                waiting.pop()
            inside.add(job.id)
            engine.admit([job])
        finished = engine.step()
        inside.difference_update(done.job_id for done in finished)
        found += [done for done in finished if done.job_id >= 0]
        if choose.random() < 0.1:
            leaving = [job_id for job_id in inside if job_id < 0]
            engine.cancel(leaving)
            inside.difference_update(leaving)
    return best(found)


@benchmark
@setup_options
@click.option("--count", "n", type=click.IntRange(1), default=2000)
@beam_option
@click.option(
    "--torch",
    "device",
    metavar="DEVICE",
    help="Use the torch engine on a device, such as cpu or cuda:0. Scores may differ slightly.",
)
@click.option(
    "--rule",
    "rule_name",
    type=click.Choice(list(RULES)),
    help="Rule of the search [default: the checkpoint's].",
)
@click.option("--seed", default=1, help="Seed of the random arrivals.")
def main(
    setup: Setup, *, n: int, beam: int, device: str | None, rule_name: str | None, seed: int
) -> None:
    """Compare translations alone, in batches of 64 and at random arrivals, bit for bit."""
    loaded = load_checkpoint(setup.checkpoint)
    rule = RULES[rule_name] if rule_name else loaded.config.search_rule
    options = SearchOptions(beam, length_penalty=loaded.config.length_penalty, rule=rule)
    sources = natural_sources(loaded, setup.texts(n))
    jobs = [Job(index, ids, options) for index, ids in enumerate(sources)]
    placed = ("cpu:0" if device == "cpu" else device,) if device else ("cpu",)
    engines = build_engines(loaded, setup.precision, setup.threads, devices=placed)
    expected = batched(engines, jobs, 1)
    shares = [jobs[index :: len(engines)] for index in range(len(engines))]
    scattered = chain.from_iterable(
        arriving(engine, share, seed).items() for engine, share in zip(engines, shares, strict=True)
    )
    runs = {
        f"batch {BATCH}": Difference.between(expected, batched(engines, jobs)),
        "random arrivals": Difference.between(expected, dict(scattered)),
    }
    exact = all(run.tokens == 0 for run in runs.values())
    exact &= bool(device) or all(run.scores == 0 for run in runs.values())
    if engines[0].info.precision == "float32":
        reference = Difference.between(
            expected, batched([EagerEngine(load_model(loaded, device or "cpu"))], jobs)
        )
        exact &= reference.tokens == 0 and reference.largest <= TOLERANCE
        runs["the reference engine"] = reference
    name = f"{loaded.config.name}, {engines[0].info.precision}, beam {beam}"
    settings: dict[str, Cell] = {
        "engine": engines[0].info.engine, "rule": rule_name or "the checkpoint's", "seed": seed
    }  # fmt: skip
    rows = [difference.row(run) for run, difference in runs.items()]
    setup.publish("exactness", f"Exactness: {name}", COLUMNS, rows, (), **settings)
    sys.exit(0 if exact else 1)


if __name__ == "__main__":
    main()
