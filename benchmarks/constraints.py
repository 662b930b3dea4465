"""The cost and effect of a glossary: terms used, BLEU, sentences per second.

Terms are taken from the references: words that the model's alignment links one to one. This
simulates a good glossary, and BLEU shows whether the translation around the terms suffers.

    python -m benchmarks.constraints --pairs tatoeba.test.tsv
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from app.text.glossary import Glossary, Term, all_said
from app.translation.segments.glossary_constraints import TermSpeller
from benchmarks.options import EngineSetup, beam_option, benchmark, engine_options
from benchmarks.report import Cell, Report
from model.alignment.from_attention import AlignmentMethod, Bitext, align, passes
from model.checkpoint.reader import Checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Engine, Job
from model.engine.run import run_jobs
from model.evaluation import score_translations
from model.text.words import words

MIN_LETTERS = 4
MIN_WORDS = 6
COLUMNS = {"Search": "", "Terms": ",d", "Said": ",d", "BLEU": ".2f", "Sentences/s": ".1f"}


@dataclass(frozen=True)
class Example:
    """A sentence, its reference, and the terms of both."""

    source: str
    reference: str
    entries: dict[str, str]


class TermFinder:
    """Finds terms with the alignment of a checkpoint, in one direction."""

    def __init__(self, checkpoint: Checkpoint, engine: Engine, direction: tuple[str, str]) -> None:
        self._config = checkpoint.config
        self._codec = checkpoint.tokenizer
        self._engine = engine
        self._direction = direction

    def entries(self, source: str, reference: str) -> dict[str, str]:
        """Return words of letters, linked one to one, that differ between the languages."""
        read, written = words(source), words(reference)
        pair = Bitext(source, reference, *self._direction, read, written)
        method = self._config.alignment or AlignmentMethod()
        runs = passes(
            self._codec, self._config.transformer.max_length, pair,
            both_directions=method.both_directions,
        )  # fmt: skip
        weights = [self._engine.explain(*run.ids, "cross") for run in runs]
        links = align(runs, weights, method)
        sources, targets = [i for i, _ in links], [j for _, j in links]
        single = (
            (source[slice(*read[i])], reference[slice(*written[j])])
            for i, j in links
            if sources.count(i) == targets.count(j) == 1
        )
        return {
            word: term
            for word, term in single
            if min(len(word), len(term)) >= MIN_LETTERS
            and word.isalpha()
            and term.isalpha()
            and word.lower() != term.lower()
            and source.lower().split().count(word.lower()) <= 1
        }


def examples(
    finder: TermFinder, lines: Sequence[str], count: int, n_terms: int, seed: int
) -> list[Example]:
    """Return examples from lines with `n_terms` terms, in random order."""
    choose = random.Random(seed)
    found: list[Example] = []
    for line in choose.sample(lines, len(lines)):
        source, reference = line.split("\t")[:2]
        if len(source.split()) < MIN_WORDS:
            continue
        entries = finder.entries(source, reference)
        if len(entries) >= n_terms:
            chosen = dict(choose.sample(sorted(entries.items()), n_terms))
            found.append(Example(source, reference, chosen))
        if len(found) == count:
            break
    return found


@dataclass(frozen=True)
class Outcome:
    """The result of a search over the examples."""

    translations: list[str]
    seconds: float

    def row(
        self, name: str, asked: Sequence[Example], terms: Sequence[list[Term]]
    ) -> dict[str, Cell]:
        """Return the row of the table."""
        pairs = zip(terms, self.translations, strict=True)
        n_said = sum(all_said([term], text) for found, text in pairs for term in found)
        bleu = score_translations(self.translations, [one.reference for one in asked]).bleu
        values = (name, sum(map(len, terms)), n_said, bleu, len(asked) / self.seconds)
        return dict(zip(COLUMNS, values, strict=True))


def translate(checkpoint: Checkpoint, engines: Sequence[Engine], jobs: Sequence[Job]) -> Outcome:
    """Run all jobs on the engines. Raises the error of a failed job."""
    began = time.perf_counter()
    found = dict(run_jobs(engines, jobs))
    seconds = time.perf_counter() - began
    texts = []
    for job in jobs:
        outcome = found[job.id]
        if isinstance(outcome, Exception):
            raise outcome
        texts.append(checkpoint.tokenizer.decode(outcome[0].ids))
    return Outcome(texts, seconds)


@benchmark
@engine_options
@click.option(
    "--pairs", type=click.Path(path_type=Path), required=True, help="Source, tab, reference."
)
@click.option("--count", type=click.IntRange(1), default=200)
@click.option("--terms", "n_terms", type=click.IntRange(1), default=1, help="Each.")
@beam_option
@click.option("--seed", default=1, help="Seed of the random choices.")
def main(
    setup: EngineSetup, *, pairs: Path, count: int, n_terms: int, beam: int, seed: int
) -> None:
    """Translate sentences with and without terms of their references."""
    loaded, engines = setup.load()
    direction = loaded.config.directions[0]
    lines = pairs.read_text(encoding="utf-8").splitlines()
    finder = TermFinder(loaded, engines[0], direction)
    asked = examples(finder, lines, count, n_terms, seed)
    if not asked:
        raise click.ClickException(f"no sentence of {pairs} has {n_terms} terms")
    options = SearchOptions(beam, length_penalty=loaded.config.length_penalty)
    free = [
        Job(index, tuple(loaded.tokenizer.source_ids(example.source, direction[1])), options)
        for index, example in enumerate(asked)
    ]
    terms = [list(Glossary(example.entries).find(example.source)) for example in asked]
    speller = TermSpeller(loaded.tokenizer)
    bound = [
        replace(job, options=replace(options, constraints=speller.constraints(found)))
        for job, found in zip(free, terms, strict=True)
    ]
    translate(loaded, engines, [*free[:8], *(replace(job, id=-1 - job.id) for job in bound[:8])])
    rows = [
        translate(loaded, engines, jobs).row(name, asked, terms)
        for name, jobs in (("free", free), ("with terms", bound))
    ]
    name = f"{loaded.config.name}, {engines[0].info.precision}, beam {beam}"
    settings: dict[str, Cell] = {
        "pairs": pairs.name, "sentences": len(asked), "terms": n_terms, "threads": setup.threads,
        "seed": seed,
    }  # fmt: skip
    setup.publish(Report("constraints", f"Constraints: {name}", settings, COLUMNS, rows))


if __name__ == "__main__":
    main()
