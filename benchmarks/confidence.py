"""Whether confidence and flags tell the truth: chrF by decile of confidence, and by flag.

Sentences of the first decile have the lowest confidence. Each row has the chrF of its sentences as
one corpus.

    python -m benchmarks.confidence --pairs flores.dev.tsv
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from app.cli.options import search_options
from app.cli.translating.line_translator import LineTranslator
from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText
from benchmarks.options import EngineSetup, beam_option, benchmark, engine_options
from benchmarks.report import Cell, Report
from model.evaluation import score_translations

COLUMNS = {"Direction": "", "Sentences of": "", "Count": ",d", "Confidence": ".3f", "chrF": ".2f"}
N_PARTS = 10


@dataclass(frozen=True)
class Judged:
    """A translation beside its reference."""

    translation: str
    reference: str
    confidence: float
    is_flagged: bool

    @classmethod
    def of(cls, text: SegmentedText, reference: str) -> Judged:
        """Return an answer as the server would give it."""
        log_probs = text.log_probs
        confidence = math.exp(math.fsum(log_probs) / len(log_probs)) if log_probs else 1.0
        return cls(text.answer().after, reference, confidence, bool(text.flags))


def _row(direction: str, name: str, judged: Sequence[Judged]) -> dict[str, Cell]:
    scores = score_translations(
        [one.translation for one in judged], [one.reference for one in judged]
    )
    mean = sum(one.confidence for one in judged) / len(judged)
    return dict(zip(COLUMNS, (direction, name, len(judged), mean, scores.chrf), strict=True))


def rows(direction: str, judged: Sequence[Judged]) -> list[dict[str, Cell]]:
    """Return the rows of a direction: deciles, lowest first; flagged and not; all."""
    ordered = sorted(judged, key=lambda one: one.confidence)
    parts = {
        f"decile {part + 1}": ordered[
            part * len(ordered) // N_PARTS : (part + 1) * len(ordered) // N_PARTS
        ]
        for part in range(N_PARTS)
    }
    parts["flagged"] = [one for one in judged if one.is_flagged]
    parts["not flagged"] = [one for one in judged if not one.is_flagged]
    parts["all"] = ordered
    return [_row(direction, name, part) for name, part in parts.items() if part]


@benchmark
@engine_options
@click.option(
    "--pairs", type=click.Path(path_type=Path), required=True, help="English, tab, French."
)
@beam_option
def main(setup: EngineSetup, *, pairs: Path, beam: int) -> None:
    """Translate held-out pairs; the first direction of the checkpoint reads the first column."""
    loaded, engines = setup.load()
    config = loaded.config
    options = search_options(config, beam)
    columns = list(
        zip(*(line.split("\t")[:2] for line in pairs.read_text("utf-8").splitlines()), strict=True)
    )
    found: list[dict[str, Cell]] = []
    for direction in config.directions:
        read, expected = columns if direction == config.directions[0] else columns[::-1]
        reading = Reading(loaded.tokenizer, direction, config.transformer.max_length, options)
        texts = LineTranslator(reading, engines).translate(read)
        judged = [Judged.of(*pair) for pair in zip(texts, expected, strict=True)]
        found += rows(" → ".join(direction), judged)
    name = f"{config.name}, {engines[0].info.precision}, beam {beam}"
    settings: dict[str, Cell] = {"pairs": pairs.name, "threads": setup.threads}
    setup.publish(Report("confidence", f"Confidence: {name}", settings, COLUMNS, found))


if __name__ == "__main__":
    main()
