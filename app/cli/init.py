"""`attend init`: writes a checkpoint with random weights."""

import itertools
import re
from pathlib import Path

import click

from app.cli.options import path_type
from model.checkpoint.writer import check_new_folder
from model.training.data.corpus import read_lines
from model.training.random_checkpoint import write_random_checkpoint
from model.transformer.config import PRESETS

_SENTENCES = 500_000
_CODE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")  # the part of BCP-47 in use


@click.command(epilog="Example: attend init --preset tiny /tmp/tiny && attend inspect /tmp/tiny")
@click.argument("folder", type=path_type, metavar="DIR")
@click.option("--preset", type=click.Choice(list(PRESETS)), required=True)
@click.option(
    "--languages", default="en,fr", show_default=True, metavar="CODE,CODE",
    help="The two languages; the model translates in both directions.",
)  # fmt: skip
@click.option(
    "--vocab-from", type=path_type, metavar="FILE",
    help=f"UTF-8 text whose first {_SENTENCES:,} lines the vocabulary is learnt from.",
)  # fmt: skip
@click.option("--seed", type=int, default=1, show_default=True, help="Same seed, same weights.")
def init(folder: Path, preset: str, languages: str, vocab_from: Path | None, seed: int) -> None:
    """Write a checkpoint with random weights to DIR, for tests and benchmarks.

    The vocabulary has the preset's size (for tiny 512, since it must include every byte) and is
    learnt from invented words or from --vocab-from. DIR must be new or empty.
    """
    pair = _pair(languages)
    check_new_folder(folder)
    lines = itertools.islice(read_lines(vocab_from), _SENTENCES) if vocab_from else None
    sentences = None if lines is None else [line.strip() for line in lines]
    n_parameters = write_random_checkpoint(folder, preset, pair, sentences, seed)
    click.echo(f"wrote {folder}: {preset}, {n_parameters:,} parameters")


def _pair(languages: str) -> tuple[str, str]:
    first, _, second = languages.partition(",")
    if first == second or not all(map(_CODE.fullmatch, (first, second))):
        raise click.BadParameter("two different codes, such as en,fr", param_hint="--languages")
    return first, second
