"""What becomes of numbers, money, times, emoji and symbols, in generated sentences.

A corrupted translation lacks the number or the symbol of its source, or has U+FFFD.

    python -m benchmarks.facts --count 1000
"""

from __future__ import annotations

import random
from collections import Counter
from typing import cast, get_args

import click

from app.cli.translating.line_translator import LineTranslator
from app.translation.segments.reading import Reading
from benchmarks.fact_frames import Language
from benchmarks.generated_facts import sentences
from benchmarks.options import EngineSetup, beam_option, benchmark, engine_options
from benchmarks.report import Cell, Report
from model.decoding.hypothesis import SearchOptions

COLUMNS = {
    "Direction": "", "Kind": "", "Sentences": ",d", "Retried": ",d", "Flagged": ",d",
    "Corrupted, flagged": ",d", "Corrupted, not flagged": ",d", "With U+FFFD": ",d",
}  # fmt: skip
SHOWN = 10
"""Corrupted translations without a flag that are printed."""


@benchmark
@engine_options
@click.option("--count", type=click.IntRange(1), default=1000, help="Each way.")
@beam_option
@click.option("--seed", default=1, help="Seed of the sentences.")
def main(setup: EngineSetup, *, count: int, beam: int, seed: int) -> None:
    """Translate generated sentences in every direction between English and French."""
    loaded, engines = setup.load()
    options = SearchOptions(beam, length_penalty=loaded.config.length_penalty)
    rows: list[dict[str, Cell]] = []
    for direction in loaded.config.directions:
        if not set(direction) <= set(get_args(Language)):
            continue
        asked = sentences(cast(Language, direction[0]), count, seed)
        random.Random(seed).shuffle(asked)
        max_length = loaded.config.transformer.max_length
        translator = LineTranslator(
            Reading(loaded.tokenizer, direction, max_length, options), engines
        )
        found = list(translator.translate(one.text for one in asked))
        n_shown = 0
        totals: dict[str, Counter[str]] = {}
        for sentence, text in zip(asked, found, strict=True):
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
            if is_corrupted and not text.flags and n_shown < SHOWN:
                n_shown += 1
                click.echo(f"{sentence.text} → {answer}")
        for kind, total in sorted(totals.items()):
            way = " → ".join(direction)
            numbers = {column: total[column] for column in list(COLUMNS)[2:]}
            rows.append({"Direction": way, "Kind": kind, **numbers})
    name = f"{loaded.config.name}, {engines[0].info.precision}, beam {beam}"
    settings: dict[str, Cell] = {
        "sentences each way": count,
        "threads": setup.threads,
        "seed": seed,
    }
    setup.publish(Report("facts", f"Facts: {name}", settings, COLUMNS, rows))


if __name__ == "__main__":
    main()
