"""Translates generated sentences and checks their numbers, times, emoji and symbols.

A translation is corrupted if it lacks the number or symbol of its source, or contains U+FFFD.

    python -m benchmarks.facts --count 1000
"""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from pathlib import Path
from typing import cast, get_args

import click

from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText
from benchmarks.generated_facts import Language, sentences
from benchmarks.options import (
    beam_option,
    benchmark,
    checkpoint_option,
    json_option,
    precision_option,
    threads_option,
)
from benchmarks.report import Cell, Report, publish
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.build import build_engines
from model.engine.protocol import PrecisionChoice
from model.translator import Translator

COLUMNS = {
    "Direction": "", "Kind": "", "Sentences": ",d", "Retried": ",d", "Flagged": ",d",
    "Corrupted, flagged": ",d", "Corrupted, not flagged": ",d", "With U+FFFD": ",d",
}  # fmt: skip
MAX_EXAMPLES = 10
"""Corrupted translations without a flag that are printed."""


@benchmark
@checkpoint_option
@click.option("--count", type=click.IntRange(1), default=1000, help="Sentences per direction.")
@beam_option
@click.option("--seed", default=1, help="Seed of the sentences.")
@threads_option
@precision_option
@json_option
def main(
    *,
    checkpoint: Path,
    count: int,
    beam: int,
    seed: int,
    threads: int,
    precision: PrecisionChoice,
    json_file: Path | None,
) -> None:
    """Translate generated sentences in every direction between English and French."""
    loaded = load_checkpoint(checkpoint)
    engines = build_engines(loaded, precision, threads)
    options = SearchOptions(beam, length_penalty=loaded.config.length_penalty)
    rows: list[dict[str, Cell]] = []
    for direction in loaded.config.directions:
        if not set(direction) <= set(get_args(Language)):
            continue
        generated = sentences(cast(Language, direction[0]), count, seed)
        random.Random(seed).shuffle(generated)
        max_length = loaded.config.transformer.max_length
        reading = Reading(loaded.tokenizer, direction, max_length, options)
        translator = Translator(partial(SegmentedText, reading=reading), engines)
        found = list(translator.stream(one.text for one in generated))
        n_examples = 0
        totals: dict[str, Counter[str]] = {}
        for sentence, text in zip(generated, found, strict=True):
            answer = text.answer().after
            is_corrupted = sentence.is_corrupted_by(answer)
            for kind in (sentence.kind, "all"):
                total = totals.setdefault(kind, Counter())
                total["Sentences"] += 1
                total["Retried"] += bool(text.retried)
                total["Flagged"] += bool(text.flags)
                total["With U+FFFD"] += "\ufffd" in answer
                if is_corrupted:
                    flagged = "flagged" if text.flags else "not flagged"
                    total[f"Corrupted, {flagged}"] += 1
            if is_corrupted and not text.flags and n_examples < MAX_EXAMPLES:
                n_examples += 1
                click.echo(f"{sentence.text} → {answer}")
        for kind, total in sorted(totals.items()):
            counts = {column: total[column] for column in list(COLUMNS)[2:]}
            rows.append({"Direction": " → ".join(direction), "Kind": kind, **counts})
    name = f"{loaded.config.name}, {engines[0].info.precision}, beam {beam}"
    settings: dict[str, Cell] = {
        "sentences each way": count,
        "threads": threads,
        "seed": seed,
    }
    publish(Report("facts", f"Facts: {name}", settings, COLUMNS, rows), json_file)


if __name__ == "__main__":
    main()
