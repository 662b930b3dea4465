"""`attend export`: writes checkpoints in other projects' formats."""

from collections.abc import Callable
from pathlib import Path

import click

from app.cli.options import path_type
from model.interop.huggingface_export import MARIAN, PEGASUS, Form, export_huggingface


@click.group(epilog="Example: attend export pegasus checkpoints/en-fr /tmp/en-fr")
def export() -> None:
    """Write a checkpoint as a folder that transformers and CTranslate2 can load."""


def _verb(folders: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a function a verb, whose example has these folders."""

    def command(verb: Callable[..., None]) -> click.Command:
        verb = click.argument("destination", type=path_type, metavar="DEST")(verb)
        verb = click.argument("folder", type=path_type, metavar="DIR")(verb)
        example = f"Example: attend export {verb.__name__} {folders}"
        return export.command(epilog=example)(verb)

    return command


@_verb("runs/base/checkpoint /tmp/base")
def marian(folder: Path, destination: Path) -> None:
    """Write the checkpoint in DIR as a MarianMTModel to DEST.

    For post-norm checkpoints, as in the paper. DEST must be new or empty. `attend import marian
    DEST` restores the original checkpoint.
    """
    _export(folder, destination, MARIAN)


@_verb("checkpoints/en-fr /tmp/en-fr")
def pegasus(folder: Path, destination: Path) -> None:
    """Write DIR as a PegasusForConditionalGeneration to DEST.

    For pre-norm checkpoints, which Marian's architecture cannot express: Pegasus is the same
    Transformer with LayerNorm before each sub-layer. DEST must be new or empty. `attend import
    marian DEST` restores the original checkpoint.
    """
    _export(folder, destination, PEGASUS)


def _export(folder: Path, destination: Path, form: Form) -> None:
    faults = export_huggingface(folder, destination, form)
    click.echo(f"wrote {destination}: {form.architecture}")
    for fault in faults:
        click.echo(f"attend: CTranslate2 would convert it wrongly: {fault}", err=True)
