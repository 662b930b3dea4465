"""`attend golden`: records a few translations with a checkpoint, for servers to verify."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import cast

import click

from app.cli.main import Failure
from app.cli.options import (
    checkpoint_option,
    choose_direction,
    search_options,
    source_option,
    target_option,
)
from app.cli.translating.line_translator import LineTranslator
from app.cli.translating.lines import ByteSource, line_blocks
from app.translation.segments.reading import Reading
from model.checkpoint.golden import GoldenSentence, write_golden
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import load_checkpoint
from model.engine.build import build_engines
from model.engine.eager import EagerEngine


@click.command(
    epilog="Example: head -n 50 sentences.txt | attend golden --checkpoint DIR --source en"
)
@checkpoint_option
@source_option
@target_option
@click.option(
    "--count", type=click.IntRange(1), default=8, show_default=True, help="Sentences to record."
)
def golden(*, checkpoint: Path, source: str | None, target: str | None, count: int) -> None:
    """Record translations of sentences from standard input, one per line, in golden.json.

    A server that loads the checkpoint translates them before it accepts requests, and exits if a
    translation differs. Only sentences on which the engine and the float32 reference agree are
    recorded, so that other precisions and processors agree too. Previous records for the
    direction are replaced.
    """
    loaded = load_checkpoint(checkpoint)
    direction = choose_direction(loaded.config, source, target)
    max_length = loaded.config.transformer.max_length
    options = search_options(loaded.config, None, None, loaded.tokenizer.first_id(direction[1]))
    reading = Reading(loaded.tokenizer, direction, max_length, options)
    lines = [line for line in _lines() if line.strip()]
    engines = build_engines(loaded), [EagerEngine(load_model(loaded))]
    answers = [
        [line.answer().after for line in LineTranslator(reading, alike).translate(lines)]
        for alike in engines
    ]
    agreed = (
        GoldenSentence(source=direction[0], target=direction[1], text=line, translation=first)
        for line, first, second in zip(lines, *answers, strict=True)
        if first == second
    )
    recorded = list(islice(agreed, count))
    if not recorded:
        raise Failure("the engine and the reference agree on none of the sentences")
    others = [one for one in loaded.golden if (one.source, one.target) != direction]
    write_golden(checkpoint, [*others, *recorded])
    click.echo(f"wrote {checkpoint}: {len(recorded)} sentences, {' to '.join(direction)}")


def _lines() -> Iterator[str]:
    for block in line_blocks(cast("ByteSource", sys.stdin.buffer)):
        yield from block
