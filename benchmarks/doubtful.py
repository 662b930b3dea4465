"""Precision and recall of the flag `doubtful` at several limits, on outputs that a person judges.

    python -m benchmarks.doubtful judged.tsv

A line of the file has a judgement (`salad`, `wrong`, `right`, or `?` if there is none yet), the
log-probability and number of the output's tokens, the log-probability of its least probable word,
the language, the source and the output; `tests/app/text/judged.tsv` is one. The sources are
translated, and the file is written again: a line with another output than before gets a `?`. Judge
these lines and run it again; lines with `?` are not counted.
"""

import math
from functools import partial
from itertools import product
from pathlib import Path

import click

from app.text.flags import MIN_LOG_PROB, MIN_WORD_LOG_PROB, least_word_log_prob
from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText
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
    "Mean limit": ".2f", "Word limit": ".2f", "Flagged": ",d", "Salad or wrong of them": ".1%",
    "Salad flagged": ".1%", "Wrong flagged": ".1%", "Right flagged": ".1%",
}  # fmt: skip
MEANS = (MIN_LOG_PROB - 0.1, MIN_LOG_PROB, MIN_LOG_PROB + 0.1)
WORDS = (MIN_WORD_LOG_PROB - 0.5, MIN_WORD_LOG_PROB, MIN_WORD_LOG_PROB + 0.5)
JUDGEMENTS = ("salad", "wrong", "right")
UNJUDGED = "?"


@benchmark
@click.argument("judged", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@checkpoint_option
@beam_option
@threads_option
@precision_option
@json_option
def main(
    *,
    judged: Path,
    checkpoint: Path,
    beam: int,
    threads: int,
    precision: PrecisionChoice,
    json_file: Path | None,
) -> None:
    """Translate the sources again, and count the flags at each limit."""
    loaded = load_checkpoint(checkpoint)
    engines = build_engines(loaded, precision, threads)
    options = SearchOptions(beam, length_penalty=loaded.config.length_penalty)
    lines = [line.split("\t") for line in judged.read_text("utf-8").splitlines()]
    for direction in loaded.config.directions:
        chosen = [line for line in lines if line[4] == direction[0]]
        reading = Reading(
            loaded.tokenizer, direction, loaded.config.transformer.max_length, options
        )
        translator = Translator(partial(SegmentedText, reading=reading), engines)
        found = translator.stream(line[5] for line in chosen)
        for line, text in zip(chosen, found, strict=True):
            output = " ".join(text.answer().after.split())
            line[0] = line[0] if output == line[6] else UNJUDGED
            line[1:4] = _figures(text)
            line[6] = output
    judged.write_text("".join("\t".join(line) + "\n" for line in lines), "utf-8")
    known = [line for line in lines if line[0] in JUDGEMENTS]
    click.echo(f"{len(lines) - len(known)} of {len(lines)} lines have no judgement")
    rows = [_row(known, mean, word) for mean, word in product(MEANS, WORDS)]
    name = f"{loaded.config.name}, {engines[0].info.precision}, beam {beam}"
    settings: dict[str, Cell] = {"judged": len(known), "threads": threads}
    publish(Report("doubtful", f"Doubtful: {name}", settings, COLUMNS, rows), json_file)


def _figures(text: SegmentedText) -> list[str]:
    log_probs = text.log_probs
    words = [
        least_word_log_prob([one.codec.piece(id_) for id_ in one.best.ids], one.best.log_probs)
        for one in text.segments
    ]
    return [f"{math.fsum(log_probs):.2f}", str(len(log_probs)), f"{min(words, default=0.0):.2f}"]


def _row(lines: list[list[str]], mean: float, word: float) -> dict[str, Cell]:
    n = dict.fromkeys(JUDGEMENTS, 0)
    flagged = dict.fromkeys(JUDGEMENTS, 0)
    for judgement, total, n_tokens, least, *_ in lines:
        n[judgement] += 1
        is_improbable = float(total) <= min(word, mean * int(n_tokens))
        flagged[judgement] += is_improbable or float(least) <= word
    n_flagged = sum(flagged.values())
    shares: dict[str, Cell] = {
        f"{judgement.capitalize()} flagged": flagged[judgement] / max(1, n[judgement])
        for judgement in JUDGEMENTS
    }
    return {
        "Mean limit": mean,
        "Word limit": word,
        "Flagged": n_flagged,
        "Salad or wrong of them": (flagged["salad"] + flagged["wrong"]) / max(1, n_flagged),
        **shares,
    }


if __name__ == "__main__":
    main()
