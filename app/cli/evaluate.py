"""`attend evaluate`: BLEU and chrF of a checkpoint on test files."""

import json
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from app.cli import options
from app.cli.display.progress import counted_progress
from app.cli.display.tables import print_table
from app.hub.import_cache import checkpoint_folder
from model.checkpoint.reader import load_checkpoint
from model.engine.device import pick_devices
from model.engine.protocol import PrecisionChoice
from model.errors import DataError, InputError
from model.training.data.corpus import read_pairs
from model.translator import Sentence, Translator, offline_engines


@click.command(epilog="Example: attend evaluate --source en --target fr tatoeba.test.tsv")
@options.checkpoint
@options.cache
@options.source
@options.target
@options.columns
@options.beam_size
@options.length_penalty
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@options.device
@options.precision
@options.threads
@click.argument("files", nargs=-1, required=True, type=options.path_type, metavar="FILE…")
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
    direction = options.choose_direction(loaded.config, source, target)
    column = options.source_column(columns, direction)
    search = options.search_options(loaded, direction[1], beam_size, length_penalty)
    read = partial(
        Sentence,
        codec=loaded.tokenizer,
        direction=direction,
        max_tokens=loaded.config.transformer.max_length,
        options=search,
    )
    engines = offline_engines(loaded, precision, threads, pick_devices(device))
    translator = Translator(read, engines)
    corpora = {file: list(read_pairs(file)) for file in files}
    if empty := [file for file, pairs in corpora.items() if not pairs]:
        raise DataError(f"{empty[0]}: no pairs")
    results: list[dict[str, Any]] = []
    for file, pairs in corpora.items():
        sources, references = ([pair[side] for pair in pairs] for side in (column, 1 - column))
        began = time.perf_counter()
        hypotheses, capped = _translate(translator, file, sources)
        seconds = time.perf_counter() - began
        results.append(
            {
                "file": str(file),
                "pairs": len(pairs),
                **_scores(hypotheses, references),
                "sentences_per_second": len(pairs) / seconds,
                "length_capped": capped,
            }
        )
    if as_json:
        document = {
            "model": loaded.config.name,
            "source": direction[0],
            "target": direction[1],
            "beam_size": search.beam_size,
            "length_penalty": search.length_penalty,
            "files": results,
        }
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        title = f"{loaded.config.name}: {' → '.join(direction)}, beam {search.beam_size}"
        _print_table(f"{title}, length penalty {search.length_penalty:g}", results)


def _translate(
    translator: Translator[Sentence], file: Path, sources: Sequence[str]
) -> tuple[list[str], int]:
    """Return the translations, and how many were cut at the token limit."""
    hypotheses: list[str] = []
    capped = 0
    with counted_progress() as progress:
        task = progress.add_task(file.name, total=len(sources))
        try:
            for one in translator.stream(sources):
                hypotheses.append(one.translation)
                capped += one.hypothesis is not None and one.hypothesis.capped
                progress.advance(task)
        except InputError as error:
            raise DataError(f"{file}:{len(hypotheses) + 1}: {error}") from None
    return hypotheses, capped


def _scores(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """Score by BLEU (Papineni et al. 2002) and chrF (Popović 2015), with signatures (Post 2018)."""
    bleu, chrf = BLEU(), CHRF()
    return {  # signatures are known only after a corpus was scored
        "bleu": bleu.corpus_score(hypotheses, [references]).score,
        "chrf": chrf.corpus_score(hypotheses, [references]).score,
        "bleu_signature": str(bleu.get_signature()),
        "chrf_signature": str(chrf.get_signature()),
    }


def _print_table(title: str, results: Sequence[Mapping[str, Any]]) -> None:
    table = Table(title=title)
    table.add_column("File", overflow="fold")
    for heading in ("Pairs", "BLEU", "chrF", "Sentences/s", "Cut"):
        table.add_column(heading, justify="right")
    for one in results:
        table.add_row(
            one["file"],
            f"{one['pairs']:,}",
            f"{one['bleu']:.1f}",
            f"{one['chrf']:.1f}",
            f"{one['sentences_per_second']:.1f}",
            str(one["length_capped"]),
        )
    print_table(table)
    click.echo(f"BLEU {results[0]['bleu_signature']}\nchrF {results[0]['chrf_signature']}")
