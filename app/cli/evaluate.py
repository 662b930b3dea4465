"""`attend evaluate`: BLEU and chrF of a checkpoint on test files."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from app.cli.display.progress import counted_progress
from app.cli.import_cache import checkpoint_folder
from app.cli.options import (
    beam_size_option,
    cache_option,
    checkpoint_option,
    choose_direction,
    columns_option,
    device_option,
    length_penalty_option,
    precision_option,
    search_options,
    source_column,
    source_option,
    target_option,
    threads_option,
)
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.device import pick_devices
from model.engine.protocol import PrecisionChoice
from model.errors import DataError
from model.evaluation import Scores, score_translations
from model.training.data.corpus import read_pairs
from model.translator import SentenceTooLongError, Translator


@dataclass(frozen=True)
class Result:
    """One evaluated file; `seconds` is for translation only, `capped` counts truncated ones."""

    file: str
    pairs: int
    scores: Scores
    seconds: float
    capped: int

    @property
    def sentences_per_second(self) -> float:
        """Translation throughput."""
        return self.pairs / self.seconds


@click.command(
    epilog="Example: attend evaluate --source en --target fr tatoeba.test.tsv europarl.test.tsv"
)
@checkpoint_option
@cache_option
@source_option
@target_option
@columns_option
@beam_size_option
@length_penalty_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@device_option
@precision_option
@threads_option
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
def evaluate(
    *,
    checkpoint: Path,
    cache: Path | None,
    source: str | None,
    target: str | None,
    columns: str | None,
    beam_size: int | None,
    length_penalty: float | None,
    as_json: bool,
    device: str,
    precision: PrecisionChoice,
    threads: int | None,
    files: Sequence[Path],
) -> None:
    """Translate one column of each FILE and score it against the other with sacreBLEU.

    Files are tab-separated UTF-8 with one pair per line; .xz and .gz are decompressed.
    """
    loaded = load_checkpoint(checkpoint_folder(checkpoint, cache))
    direction = choose_direction(loaded.config, source, target)
    column = source_column(columns, direction)
    options = search_options(loaded.config, beam_size, length_penalty)
    translator = Translator.from_checkpoint(loaded, precision, threads, pick_devices(device))
    corpora = {file: _read(file) for file in files}
    results = [
        _evaluate_file(
            translator,
            file,
            pairs=pairs,
            source_column=column,
            direction=direction,
            options=options,
        )
        for file, pairs in corpora.items()
    ]
    if as_json:
        _print_json(loaded.config.name, direction, options, results)
    else:
        _print_table(loaded.config.name, direction, options, results)


def _read(file: Path) -> list[tuple[str, str]]:
    pairs = list(read_pairs(file))
    if not pairs:
        raise DataError(f"{file}: no pairs")
    return pairs


def _evaluate_file(
    translator: Translator,
    file: Path,
    *,
    pairs: list[tuple[str, str]],
    source_column: int,
    direction: tuple[str, str],
    options: SearchOptions,
) -> Result:
    source, target = direction
    sources = [pair[source_column] for pair in pairs]
    references = [pair[1 - source_column] for pair in pairs]
    hypotheses = [""] * len(pairs)
    capped = 0
    began = time.perf_counter()
    with counted_progress() as progress:
        task = progress.add_task(file.name, total=len(pairs))
        try:
            translations = translator.translate_as_ready(sources, target, options, source)
            for index, translation in translations:
                hypotheses[index] = translation.text
                capped += translation.capped
                progress.advance(task)
        except SentenceTooLongError as error:
            raise DataError(f"{file}:{error.index + 1}: {error}") from None
    seconds = time.perf_counter() - began
    return Result(
        str(file), len(pairs), score_translations(hypotheses, references), seconds, capped
    )


def _print_json(
    name: str, direction: tuple[str, str], options: SearchOptions, results: list[Result]
) -> None:
    document = {
        "model": name,
        "source": direction[0],
        "target": direction[1],
        "beam_size": options.beam_size,
        "length_penalty": options.length_penalty,
        "files": [
            {
                "file": result.file,
                "pairs": result.pairs,
                **asdict(result.scores),
                "sentences_per_second": result.sentences_per_second,
                "length_capped": result.capped,
            }
            for result in results
        ],
    }
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _print_table(
    name: str, direction: tuple[str, str], options: SearchOptions, results: list[Result]
) -> None:
    table = Table(
        title=f"{name}: {direction[0]} → {direction[1]}, beam {options.beam_size}, "
        f"length penalty {options.length_penalty:g}"
    )
    table.add_column("File", overflow="fold")
    for heading in ("Pairs", "BLEU", "chrF", "Sentences/s", "Cut"):
        table.add_column(heading, justify="right")
    for result in results:
        table.add_row(
            result.file,
            f"{result.pairs:,}",
            f"{result.scores.bleu:.1f}",
            f"{result.scores.chrf:.1f}",
            f"{result.sentences_per_second:.1f}",
            str(result.capped),
        )
    Console().print(table)
    scores = results[0].scores
    click.echo(f"BLEU {scores.bleu_signature}\nchrF {scores.chrf_signature}")
