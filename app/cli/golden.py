"""`attend golden`: records a few translations with a checkpoint, for servers to verify."""

import sys
from functools import partial
from pathlib import Path
from typing import cast

import click

from app.cli import options
from app.cli.display.tables import counted
from app.cli.main import Failure
from app.cli.translating.lines import ByteSource, line_blocks
from app.shipped import SHIPPED_CHECKPOINT
from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText
from model.checkpoint.golden import GoldenSentence, write_golden
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import load_checkpoint
from model.engine.build import build_engines
from model.engine.eager import EagerEngine
from model.translator import Translator


@click.command(epilog="Example: head -n 50 lines.txt | attend golden --checkpoint DIR --source en")
@options.checkpoint
@options.source
@options.target
@click.option(
    "--count", type=click.IntRange(1), default=8, show_default=True, help="Sentences to record."
)
@click.option(
    "--output", type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Folder to write golden.json to; by default the checkpoint, unless it is the shipped one.",
)  # fmt: skip
def golden(
    *, checkpoint: Path, source: str | None, target: str | None, count: int, output: Path | None
) -> None:
    """Record translations of sentences from standard input, one per line, in golden.json.

    A server that loads the checkpoint translates them before it accepts requests, and exits if a
    translation differs. Only sentences on which the engine and the float32 reference agree are
    recorded, so that other precisions and processors agree too. They replace earlier records of
    the direction.
    """
    if output is None:
        if checkpoint.resolve() == SHIPPED_CHECKPOINT.resolve():
            raise click.UsageError(
                "the records of the shipped checkpoint are replaced only with "
                f"--output {SHIPPED_CHECKPOINT}; name another with --checkpoint DIR"
            )
        output = checkpoint
    loaded = load_checkpoint(checkpoint)
    direction = options.choose_direction(loaded.config, source, target)
    search = options.search_options(loaded, direction[1])
    reading = Reading(loaded.tokenizer, direction, loaded.config.transformer.max_length, search)
    read = partial(SegmentedText, reading=reading)
    blocks = line_blocks(cast("ByteSource", sys.stdin.buffer))
    lines = [line for block in blocks for line in block if line.strip()]
    by_engine = [
        [line.answer().after for line in Translator(read, engines).stream(lines)]
        for engines in (build_engines(loaded), [EagerEngine(load_model(loaded))])
    ]
    recorded = [
        GoldenSentence(source=direction[0], target=direction[1], text=line, translation=first)
        for line, first, second in zip(lines, *by_engine, strict=True)
        if first == second
    ][:count]
    if not recorded:
        raise Failure("the engine and the reference agree on none of the sentences")
    others = [one for one in loaded.golden if (one.source, one.target) != direction]
    write_golden(output, [*others, *recorded])
    sentences = counted(len(recorded), "sentence")
    click.echo(f"wrote {output}: {sentences}, {' to '.join(direction)}")
