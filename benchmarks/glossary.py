"""What becomes of a glossary's terms: said, out of place, doubled, flagged; BLEU and chrF.

Terms are words that the model would not have chosen: the alignment links a source word to a word
of its translation and to a word of the reference; the term is what other references have for the
source word, or for another one, with the same ending. References say the term in the word's place.

    python -m benchmarks.glossary --pairs tatoeba.dev.tsv --count 500 --terms 2
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from app.cli.options import search_options
from app.text.glossary import Glossary
from app.translation.segments.glossary_constraints import TermSpeller
from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText
from benchmarks.constraints import TermFinder
from benchmarks.options import EngineSetup, beam_option, benchmark, engine_options
from benchmarks.report import Cell, Report
from model.engine.protocol import Engine, Job
from model.engine.run import run_jobs
from model.evaluation import score_translations

COLUMNS = {
    "Direction": "", "Terms each": ",d", "Answers": "", "Terms": ",d", "Said": ",d",
    "Behind the end": ",d", "Doubled": ",d", "Sentences flagged": ",d", "BLEU": ".2f",
    "chrF": ".2f",
}  # fmt: skip
MIN_WORDS = 5
N_ENDING = 2
"""Letters that two words of the target language have in common if one may stand for the other."""


@dataclass(frozen=True)
class Choice:
    """A source word, the word of the free translation that is linked to it, and the term for it."""

    word: str
    free: str
    term: str


@dataclass(frozen=True)
class Example:
    """A sentence, its translation without a glossary, and its reference with the terms."""

    source: str
    free: str
    reference: str
    choices: Sequence[Choice]

    @property
    def glossary(self) -> Glossary:
        """The glossary of its terms."""
        return Glossary({choice.word: choice.term for choice in self.choices})


def count_word(word: str, text: str) -> int:
    """Count a word in a text, in either case."""
    return len(re.findall(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE))


def is_behind_end(example: Example, answer: str) -> bool:
    """Whether a term follows the last end mark, where the source has nothing behind it."""
    if example.source.rstrip()[-1].isalnum():
        return False
    tail = re.split(r"[.!?…]", answer.rstrip())[-1]
    return any(count_word(choice.term, tail) for choice in example.choices)


def n_doubled(example: Example, answer: str) -> int:
    """Count the terms that are said without one word less of those that they should replace."""
    return sum(
        count_word(choice.term, answer) > count_word(choice.term, example.free)
        and count_word(choice.free, answer) >= count_word(choice.free, example.free)
        for choice in example.choices
    )


def translated(
    texts: Sequence[SegmentedText], engines: Sequence[Engine]
) -> Sequence[SegmentedText]:
    """Search for the texts until all are answered. Raises the error of a failed search."""
    while pending := [segment for text in texts for segment in text.pending()]:
        jobs = [Job(at, tuple(one.source_ids), one.options) for at, one in enumerate(pending)]
        for at, outcome in run_jobs(engines, jobs):
            if isinstance(outcome, Exception):
                raise outcome
            pending[at].settle(outcome)
    return texts


def examples(
    pairs: Sequence[tuple[str, str]],
    free: Sequence[str],
    finder: TermFinder,
    n_terms: int,
    seed: int,
) -> Iterator[Example]:
    """Yield the sentences that have `n_terms` words for which there is another term."""
    choose = random.Random(seed)
    in_reference = [finder.entries(*pair) for pair in pairs]
    known: dict[str, Counter[str]] = defaultdict(Counter)
    for entries in in_reference:
        for word, term in entries.items():
            known[word.lower()][term.lower()] += 1
    by_ending: dict[str, list[str]] = defaultdict(list)
    for term in sorted({term for terms in known.values() for term in terms}):
        by_ending[term[-N_ENDING:]].append(term)
    for (source, reference), answer, right in zip(pairs, free, in_reference, strict=True):
        found: list[tuple[Choice, str]] = []
        for word, said in sorted(finder.entries(source, answer).items()):
            expected = right.get(word)
            if expected is None or not (word.islower() and said.islower()):
                continue
            others = _alternatives(said, expected, known[word], by_ending)
            taken = {choice.term for choice, _ in found}
            term = choose.choice(others) if others else ""
            if term and term not in taken and not count_word(term, f"{answer} {reference}"):
                found.append((Choice(word, said, term), expected))
        if len(found) < n_terms:
            continue
        chosen = choose.sample(found, n_terms)
        terms = {expected: choice.term for choice, expected in chosen}
        wanted = "".join(terms.get(word, word) for word in re.split(r"(\w+)", reference))
        yield Example(source, answer, wanted, [choice for choice, _ in chosen])


def _alternatives(
    said: str, expected: str, known: Mapping[str, int], by_ending: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return terms of the same ending that differ from what is said: known ones, else others."""
    starts = (said[:3], expected[:3].lower())
    others = [term for term in by_ending[expected[-N_ENDING:]] if term[:3] not in starts]
    return [term for term in others if term in known] or others


def _row(
    name: str, answers: Sequence[str], asked: Sequence[Example], n_flagged: int
) -> dict[str, Cell]:
    pairs = list(zip(asked, answers, strict=True))
    scores = score_translations(list(answers), [one.reference for one in asked])
    return {
        "Answers": name,
        "Terms": sum(len(one.choices) for one in asked),
        "Said": sum(
            count_word(choice.term, answer) > 0 for one, answer in pairs for choice in one.choices
        ),
        "Behind the end": sum(is_behind_end(one, answer) for one, answer in pairs),
        "Doubled": sum(n_doubled(one, answer) for one, answer in pairs),
        "Sentences flagged": n_flagged,
        "BLEU": scores.bleu,
        "chrF": scores.chrf,
    }


@benchmark
@engine_options
@click.option(
    "--pairs", type=click.Path(path_type=Path), required=True, help="English, tab, French."
)
@click.option("--count", type=click.IntRange(1), default=500, help="Each way.")
@click.option("--terms", "n_terms", type=click.IntRange(1), default=1)
@click.option("--skip", type=click.IntRange(0), default=0, help="Pairs at the start of the file.")
@click.option("--show", type=click.IntRange(0), default=0, help="Doubtful answers to print.")
@beam_option
@click.option("--seed", default=1, help="Seed of the random choices.")
def main(
    setup: EngineSetup,
    *,
    pairs: Path,
    count: int,
    n_terms: int,
    skip: int,
    show: int,
    beam: int,
    seed: int,
) -> None:
    """Translate sentences with and without terms that the model would not have chosen."""
    loaded, engines = setup.load()
    config = loaded.config
    options = search_options(config, beam)
    lines = [line.split("\t")[:2] for line in pairs.read_text("utf-8").splitlines()][skip:]
    rows: list[dict[str, Cell]] = []
    for direction in config.directions:
        reading = Reading(
            loaded.tokenizer, direction, config.transformer.max_length, options,
            speller=TermSpeller(loaded.tokenizer),
        )  # fmt: skip
        asked = [
            (pair[0], pair[1]) if direction == config.directions[0] else (pair[1], pair[0])
            for pair in lines
            if min(len(one.split()) for one in pair) >= MIN_WORDS
        ][: 3 * count]
        texts = translated([SegmentedText(source, reading) for source, _ in asked], engines)
        free = [text.answer().after for text in texts]
        finder = TermFinder(loaded, engines[0], direction)
        chosen = list(examples(asked, free, finder, n_terms, seed))[:count]
        if not chosen:
            raise click.ClickException(f"no sentence of {pairs} has {n_terms} terms")
        bound = translated(
            [SegmentedText(one.source, replace(reading, glossary=one.glossary)) for one in chosen],
            engines,
        )
        answers = [text.answer().after for text in bound]
        n_flagged = sum("glossary_unmet" in text.flags for text in bound)
        first: dict[str, Cell] = {"Direction": " → ".join(direction), "Terms each": n_terms}
        rows.append(first | _row("without", [one.free for one in chosen], chosen, 0))
        rows.append(first | _row("with", answers, chosen, n_flagged))
        for one, text, answer in zip(chosen, bound, answers, strict=True):
            is_doubtful = n_doubled(one, answer) or text.flags or is_behind_end(one, answer)
            if show and is_doubtful:
                show -= 1
                terms = ", ".join(f"{one.word} {one.free} → {one.term}" for one in one.choices)
                click.echo(f"{one.source}\n  {one.free}\n  {answer}  [{terms}] {text.flags}")
    name = f"{config.name}, {engines[0].info.precision}, beam {beam}"
    settings: dict[str, Cell] = {"pairs": pairs.name, "threads": setup.threads, "seed": seed}
    setup.publish(Report("glossary", f"Glossary: {name}", settings, COLUMNS, rows))


if __name__ == "__main__":
    main()
