"""Translates sentences with one fact each, written and generated ones, and checks the facts.

A translation is wrong if it lacks the fact of its source in every right form, or contains U+FFFD.

    python -m benchmarks.facts --count 2000
"""

import random
from collections import Counter
from functools import partial
from pathlib import Path
from typing import cast, get_args

import click

from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText
from benchmarks.generated_facts import Language, Sentence, sentences
from benchmarks.options import (
    beam_option,
    benchmark,
    checkpoint_option,
    json_option,
    precision_option,
    threads_option,
)
from benchmarks.report import Cell, Report, publish
from benchmarks.written_facts import Written, written_sentences
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.build import build_engines
from model.engine.protocol import PrecisionChoice
from model.translator import Translator

COLUMNS = {
    "Direction": "", "Sentences": "", "Kind": "", "Count": ",d", "Retried": ",d",
    "Wrong, not flagged": ",d", "Wrong, flagged": ",d", "Right, flagged": ",d",
}  # fmt: skip
EXAMPLES = ("Wrong, not flagged", "Wrong, flagged", "Right, flagged")


@benchmark
@checkpoint_option
@click.option("--count", type=click.IntRange(0), default=2000, help="Generated per direction.")
@click.option("--kind", "only", multiple=True, help="Only sentences of a kind.")
@click.option("--examples", type=click.IntRange(0), default=10, help="Printed per fault.")
@beam_option
@click.option("--seed", default=1, help="Seed of the sentences.")
@threads_option
@precision_option
@json_option
def main(
    *,
    checkpoint: Path,
    count: int,
    only: tuple[str, ...],
    examples: int,
    beam: int,
    seed: int,
    threads: int,
    precision: PrecisionChoice,
    json_file: Path | None,
) -> None:
    """Translate sentences in every direction between English and French."""
    loaded = load_checkpoint(checkpoint)
    engines = build_engines(loaded, precision, threads)
    options = SearchOptions(beam, length_penalty=loaded.config.length_penalty)
    rows: list[dict[str, Cell]] = []
    for direction in loaded.config.directions:
        if not set(direction) <= set(get_args(Language)):
            continue
        chosen: list[tuple[str, Written | Sentence]] = [
            *(("written", one) for one in written_sentences() if one.source == direction[0]),
            *(("generated", one) for one in sentences(cast(Language, direction[0]), count, seed)),
        ]
        chosen = [(origin, one) for origin, one in chosen if not only or one.kind in only]
        random.Random(seed).shuffle(chosen)
        max_length = loaded.config.transformer.max_length
        reading = Reading(loaded.tokenizer, direction, max_length, options)
        translator = Translator(partial(SegmentedText, reading=reading), engines)
        found = translator.stream(one.text for _, one in chosen)
        totals: dict[tuple[str, str], Counter[str]] = {}
        for (origin, sentence), text in zip(chosen, found, strict=True):
            answer = text.answer().after
            is_wrong = sentence.is_wrong_in(answer)
            # Other words of the sentence may be doubtful although the fact is right.
            flags = text.flags if is_wrong else set(text.flags) - {"doubtful"}
            verdict = _verdict(is_wrong, bool(flags))
            for kind in (sentence.kind, "all"):
                total = totals.setdefault((origin, kind), Counter())
                total.update({"Count": 1, "Retried": bool(text.retried), verdict: 1})
            if verdict in EXAMPLES and totals[origin, "all"][verdict] <= examples:
                click.echo(f"{verdict} ({sentence.kind}): {sentence.text} → {answer} {text.flags}")
        for (origin, kind), total in sorted(totals.items()):
            counts = {column: total[column] for column in list(COLUMNS)[3:]}
            rows.append(
                {"Direction": " → ".join(direction), "Sentences": origin, "Kind": kind, **counts}
            )
    name = f"{loaded.config.name}, {engines[0].info.precision}, beam {beam}"
    settings: dict[str, Cell] = {"generated each way": count, "threads": threads, "seed": seed}
    publish(Report("facts", f"Facts: {name}", settings, COLUMNS, rows), json_file)


def _verdict(is_wrong: bool, is_flagged: bool) -> str:
    return f"{'Wrong' if is_wrong else 'Right'}, {'flagged' if is_flagged else 'not flagged'}"


if __name__ == "__main__":
    main()
