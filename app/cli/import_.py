"""`attend import`: converts other projects' models."""

from __future__ import annotations

from pathlib import Path

import click

from model.checkpoint.writer import check_new_folder
from model.interop.hub import fetch, is_hub_name
from model.interop.languages_said import Languages
from model.interop.marian_import import import_marian


@click.group(
    name="import",
    epilog="Example: attend import marian opus-mt-en-de/ checkpoints/en-de",
)
def import_() -> None:
    """Convert another project's model to a checkpoint."""


@import_.command(
    epilog="Example: attend import marian opus-mt-en-de/ checkpoints/en-de && "
    "attend serve --checkpoint checkpoints/en-de; "
    "attend import marian Helsinki-NLP/opus-mt-en-de checkpoints/en-de"
)
@click.argument("source", metavar="SRC")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--name", help="Name of the model in the API [default: the name of SRC].")
@click.option(
    "--source", "sources", metavar="CODE[,CODE…]", default="",
    help="Source languages [default: those that SRC declares].",
)  # fmt: skip
@click.option(
    "--target", "targets", metavar="CODE[,CODE…]", default="",
    help="Target languages [default: those that SRC declares, or all that have symbols].",
)  # fmt: skip
def marian(source: str, folder: Path, name: str | None, sources: str, targets: str) -> None:
    """Convert the Marian or OPUS-MT model in SRC to a checkpoint in DIR.

    SRC is a folder in Hugging Face format (config.json, model.safetensors or pytorch_model.bin,
    source.spm, target.spm, vocab.json) or in Marian's own (*.npz, vocab.yml, source.spm,
    target.spm, decoder.yml), or a name on the Hugging Face hub. No code in it is executed. DIR
    must be new or empty.
    """
    languages = Languages(_codes(sources), _codes(targets))
    check_new_folder(folder)
    if is_hub_name(source):
        fetched = fetch(source)
        name = name or source.rpartition("/")[2]
    else:
        fetched = Path(source)
    config = import_marian(fetched, folder, name, languages)
    directions = ", ".join(f"{source} to {target}" for source, target in config.directions)
    click.echo(f"wrote {folder}: {config.name}, {directions}")


def _codes(option: str) -> list[str]:
    return [code.strip() for code in option.split(",") if code.strip()]
