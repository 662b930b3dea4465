"""`attend import`: converts other projects' models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from app.text.languages import described
from model.checkpoint.config import CheckpointConfig
from model.checkpoint.writer import check_new_folder
from model.interop.hub import fetch, is_hub_name
from model.interop.languages_said import Languages
from model.interop.marian_import import import_m2m100, import_marian


@click.group(
    name="import",
    epilog="Example: attend import marian opus-mt-en-de/ checkpoints/en-de",
)
def import_() -> None:
    """Convert another project's model to a checkpoint."""


_name_option = click.option("--name", help="Name of the model in the API [default: that of SRC].")
_sources_option = click.option(
    "--source", "sources", metavar="CODE[,CODE…]", default="",
    help="Source languages [default: those that SRC declares].",
)  # fmt: skip
_targets_option = click.option(
    "--target", "targets", metavar="CODE[,CODE…]", default="",
    help="Target languages [default: those that SRC declares, or all that have symbols].",
)  # fmt: skip


@import_.command(
    epilog="Example: attend import marian opus-mt-en-de/ checkpoints/en-de && "
    "attend serve --checkpoint checkpoints/en-de; "
    "attend import marian Helsinki-NLP/opus-mt-en-de checkpoints/en-de"
)
@click.argument("source", metavar="SRC")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@_name_option
@_sources_option
@_targets_option
def marian(source: str, folder: Path, name: str | None, sources: str, targets: str) -> None:
    """Convert the Marian or OPUS-MT model in SRC to a checkpoint in DIR.

    SRC is a folder in Hugging Face format (config.json, model.safetensors or pytorch_model.bin,
    source.spm, target.spm, vocab.json) or in Marian's own (*.npz, vocab.yml, source.spm,
    target.spm, decoder.yml), or a name on the Hugging Face hub. No code in it is executed. DIR
    must be new or empty.
    """
    _import(import_marian, source, folder, name, Languages(_codes(sources), _codes(targets)))


@import_.command(
    epilog="Example: attend import m2m100 facebook/m2m100_418M checkpoints/m2m100; "
    "attend import m2m100 nllb-200-distilled-600M/ checkpoints/nllb --source en,fr --target en,fr"
)
@click.argument("source", metavar="SRC")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@_name_option
@_sources_option
@_targets_option
def m2m100(source: str, folder: Path, name: str | None, sources: str, targets: str) -> None:
    """Convert the M2M-100 or NLLB model in SRC to a checkpoint in DIR.

    It translates any of its languages to any other, or those of --source to those of --target. SRC
    is a folder in Hugging Face format (config.json, model.safetensors or pytorch_model.bin,
    sentencepiece.bpe.model, M2M-100's vocab.json), or a name on the Hugging Face hub. No code in it
    is executed. DIR must be new or empty.
    """
    _import(import_m2m100, source, folder, name, Languages(_codes(sources), _codes(targets)))


def _import(
    convert: Callable[[Path, Path, str | None, Languages], CheckpointConfig],
    source: str,
    folder: Path,
    name: str | None,
    languages: Languages,
) -> None:
    check_new_folder(folder)
    if is_hub_name(source):
        fetched = fetch(source)
        name = name or source.rpartition("/")[2]
    else:
        fetched = Path(source)
    config = convert(fetched, folder, name, languages)
    click.echo(f"wrote {folder}: {config.name}, {described(config.directions)}")


def _codes(option: str) -> list[str]:
    return [code.strip() for code in option.split(",") if code.strip()]
