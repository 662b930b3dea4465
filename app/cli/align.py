"""`attend align`: word alignments of sentence pairs, and their quality."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from app.cli import options
from app.cli.display.progress import counted_progress
from app.cli.display.tables import (
    counted,
    describe_method,
    describe_scores,
    print_heads,
    print_readings,
)
from app.hub.import_cache import checkpoint_folder
from model.alignment.from_attention import AlignmentMethod, Bitext, Link, Pass, passes, word_weights
from model.alignment.from_attention import align as align_words
from model.alignment.gold import (
    AlignedPair,
    GoldAlignment,
    cross_validate,
    evaluate_method,
    try_heads,
    try_readings,
)
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.checkpoint.writer import record_alignment
from model.engine.build import build_engines
from model.engine.device import pick_device
from model.engine.protocol import Engine, PrecisionChoice
from model.errors import DataError, InputError
from model.text.words import Span, whitespace_words, words
from model.training.data.corpus import read_lines, read_pairs, read_parallel

SPLITTERS: dict[str, Callable[[str], list[Span]]] = {"whitespace": whitespace_words, "text": words}


@dataclass(frozen=True, slots=True)
class Aligner:
    """Aligns pairs of columns, in their order; `column` is the source's."""

    checkpoint: Checkpoint
    engine: Engine
    direction: tuple[str, str]
    column: int
    split: Callable[[str], list[Span]]

    @property
    def method(self) -> AlignmentMethod:
        return self.checkpoint.config.alignment or AlignmentMethod()

    def attention(
        self, pair: tuple[str, str], *, both_directions: bool
    ) -> tuple[list[Pass], list[NDArray[np.float32]]]:
        """Return the passes over a pair, and the attention of each."""
        source, target = pair[self.column], pair[1 - self.column]
        bitext = Bitext(source, target, *self.direction, self.split(source), self.split(target))
        max_length = self.checkpoint.config.transformer.max_length
        codec = self.checkpoint.tokenizer
        runs = passes(codec, max_length, bitext, both_directions=both_directions)
        return runs, [self.engine.explain(*run.ids, "cross") for run in runs]

    def align(self, pair: tuple[str, str]) -> list[Link]:
        attention = self.attention(pair, both_directions=self.method.both_directions)
        found = align_words(*attention, self.method)
        return sorted((j, i) for i, j in found) if self.column else found


@click.command(
    epilog="\b\nExample: attend align pairs.tsv\n"
    "         attend align --gold hansards.links hansards.en hansards.fr"
)
@options.checkpoint
@options.cache
@options.source
@options.target
@options.columns
@click.option(
    "--words", "splitter", type=click.Choice(list(SPLITTERS)), default="whitespace",
    show_default=True,
    help="Split words at whitespace only, or as the server does: also at punctuation and "
    "elisions.",
)  # fmt: skip
@click.option(
    "--gold", type=options.path_type, metavar="FILE",
    help="Print the alignment error rate against the links in FILE instead. Without other "
    "files, the text is read from beside it: hansards.links, hansards.en, hansards.fr.",
)  # fmt: skip
@click.option("--tune", is_flag=True, help="Find the head and method that align best on --gold.")
@click.option("--record", is_flag=True, help="Write the result of --tune into the checkpoint.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object per line, or one for --gold."
)
@options.device
@options.precision
@click.argument("files", nargs=-1, type=options.path_type, metavar="[FILE [FILE]]")
def align(
    *,
    checkpoint: Path,
    cache: Path | None,
    source: str | None,
    target: str | None,
    columns: str | None,
    splitter: str,
    gold: Path | None,
    tune: bool,
    record: bool,
    as_json: bool,
    device: str,
    precision: PrecisionChoice,
    files: tuple[Path, ...],
) -> None:
    """Print which words of each sentence pair translate each other, as `0-0 1-2`.

    A single FILE has one tab-separated pair per line; two FILEs have one side each. A link names
    words by index from 0, first column first. Links come from the model's attention when it is
    forced to translate the source into the target; config.json selects the head.

    --json prints {"links", "words"} per line, with words as ranges of code points.
    """
    if (record and not tune) or (tune and gold is None):
        raise click.UsageError("--record needs --tune, and --tune needs --gold.")
    if len(files) > 2 or (not files and gold is None):
        raise click.UsageError("Give one tab-separated FILE, or two files with one side each.")
    folder = checkpoint_folder(checkpoint, cache)
    loaded = load_checkpoint(folder)
    [engine] = build_engines(loaded, precision, devices=[pick_device(device)])
    direction = options.choose_direction(loaded.config, source, target)
    column = options.source_column(columns, direction)
    aligner = Aligner(loaded, engine, direction, column, SPLITTERS[splitter])
    if gold is None:
        _print_alignments(aligner, files, as_json)
        return
    codes = (direction[column], direction[1 - column])
    beside = (gold.with_suffix(f".{codes[0]}"), gold.with_suffix(f".{codes[1]}"))
    pairs = _read_gold(aligner, gold, files or beside, every_way=tune)
    scores = evaluate_method(pairs, aligner.method)
    document: dict[str, Any] = {
        "model": loaded.config.name,
        "source": direction[0],
        "target": direction[1],
        "pairs": len(pairs),
        "method": aligner.method.model_dump(),
        **asdict(scores),
    }
    if not as_json:
        n_pairs = counted(len(pairs), "pair")
        click.echo(f"{loaded.config.name}: {' → '.join(direction)}, {n_pairs}")
        click.echo(describe_method(aligner.method))
        click.echo(describe_scores(scores))
    if tune:
        best, document["tuned"] = _tune(loaded, pairs, in_tables=not as_json)
        if record:
            record_alignment(folder, best)
    if as_json:
        click.echo(json.dumps(document, indent=2))


def _read_pairs(files: tuple[Path, ...]) -> Iterator[tuple[str, str]]:
    return read_pairs(files[0]) if len(files) == 1 else read_parallel(files[0], files[1])


def _print_alignments(aligner: Aligner, files: tuple[Path, ...], as_json: bool) -> None:
    for number, pair in enumerate(_read_pairs(files), start=1):
        try:
            found = aligner.align(pair)
        except InputError as error:
            raise InputError(f"{files[0]}:{number}: {error}") from None
        if as_json:
            spans = [aligner.split(side) for side in pair]
            click.echo(json.dumps({"links": found, "words": spans}))
        else:
            click.echo(" ".join(f"{i}-{j}" for i, j in found))


def _read_gold(
    aligner: Aligner, gold: Path, files: tuple[Path, ...], *, every_way: bool
) -> list[AlignedPair]:
    """Return the pairs with their weights, and the gold links as source-target."""
    texts = list(_read_pairs(files))
    lines = list(read_lines(gold))
    if len(texts) != len(lines):
        raise DataError(f"{gold}: {counted(len(lines), 'line')} for {counted(len(texts), 'pair')}")
    if not texts:
        raise DataError(f"{gold}: no pairs")
    both = (every_way and aligner.checkpoint.config.is_two_way) or aligner.method.both_directions
    pairs = []
    with counted_progress() as progress:
        for number, (pair, line) in enumerate(
            progress.track(list(zip(texts, lines, strict=True)), description="Aligning"), start=1
        ):
            try:
                links = _parse_gold(line, [len(aligner.split(side)) for side in pair])
                by_pass = map(word_weights, *aligner.attention(pair, both_directions=both))
                expected = links.transposed() if aligner.column else links
                pairs.append(AlignedPair(pair, list(by_pass), expected))
            except InputError as error:
                raise InputError(f"{gold}:{number}: {error}") from None
            except ValueError as error:
                raise DataError(f"{gold}:{number}: {error}") from None
    return pairs


def _parse_gold(line: str, n_words: Sequence[int]) -> GoldAlignment:
    """Return the links of a line. Raises `ValueError`, also for words that there are not."""
    links = GoldAlignment.parse(line)
    for link in links.possible:
        if any(word >= n for word, n in zip(link, n_words, strict=True)):
            raise ValueError(
                f"links words {link[0]} and {link[1]}, "
                f"but the pair has {n_words[0]} and {n_words[1]}, counted from 0"
            )
    return links


def _tune(
    loaded: Checkpoint, pairs: list[AlignedPair], *, in_tables: bool
) -> tuple[AlignmentMethod, dict[str, Any]]:
    """Return the best method and all trials, which are printed if `in_tables`."""
    can_reverse = loaded.config.is_two_way
    heads = try_heads(pairs)
    readings = try_readings(pairs, heads[0].method, can_reverse=can_reverse)
    unseen = cross_validate(pairs, can_reverse=can_reverse)
    best = readings[0]
    if in_tables:
        print_heads(heads)
        print_readings(readings)
        click.echo(f"best: {describe_scores(best.scores)}, tuned on these pairs")
        if unseen:
            click.echo(f"cross-validated, each half tuned on the other: {describe_scores(unseen)}")
    return best.method, {
        "method": best.method.model_dump(),
        **asdict(best.scores),
        "cross_validated": unseen and asdict(unseen),
        "heads": [{**one.method.model_dump(), **asdict(one.scores)} for one in heads],
        "readings": [{**one.method.model_dump(), **asdict(one.scores)} for one in readings],
    }
