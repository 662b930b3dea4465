"""`attend import`: converts other projects' models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from app.cli.display.progress import download_progress
from app.cli.import_cache import default_cache
from app.cli.options import cache_option
from app.errors import PullError
from app.hub.fetch import fetched, find
from app.hub.names import is_name
from app.hub.requests import Hub
from app.languages.served import described
from model.checkpoint.config import CONFIG_FILE, CheckpointConfig
from model.checkpoint.writer import check_new_folder
from model.interop.huggingface.config_files import M2M100Config, MarianConfig, read_object
from model.interop.huggingface.settings import check_model_type
from model.interop.languages_said import Languages
from model.interop.marian_folder import KEPT_FOLDER
from model.interop.marian_import import import_m2m100, import_marian


@click.group(
    name="import",
    epilog="Example: attend import marian opus-mt-en-de/ checkpoints/en-de",
)
def import_() -> None:
    """Convert another project's model to a checkpoint."""


@dataclass(frozen=True)
class _Wanted:
    """What is to be imported: a folder or a name on the hub, and how."""

    source: str
    folder: Path
    name: str | None
    languages: Languages
    revision: str
    cache: Path | None


def _import_options(verb: Callable[[_Wanted], None]) -> Callable[..., None]:
    """Add the arguments and options that all verbs have; they receive them as one object."""

    @click.argument("source", metavar="SRC")
    @click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
    @click.option("--name", help="Name of the model in the API [default: that of SRC].")
    @click.option(
        "--source", "sources", metavar="CODE[,CODE…]", default="",
        help="Source languages [default: those that SRC declares].",
    )  # fmt: skip
    @click.option(
        "--target", "targets", metavar="CODE[,CODE…]", default="",
        help="Target languages [default: those that SRC declares, or all that have symbols].",
    )  # fmt: skip
    @click.option(
        "--revision", default="main", show_default=True, metavar="REV",
        help="Branch, tag or commit of the hub's repository.",
    )  # fmt: skip
    @cache_option
    @wraps(verb)
    def command(*, sources: str, targets: str, **given: Any) -> None:
        verb(_Wanted(languages=Languages(_codes(sources), _codes(targets)), **given))

    return command


@import_.command(
    epilog="Example: attend import marian opus-mt-en-de/ checkpoints/en-de && "
    "attend serve --checkpoint checkpoints/en-de; "
    "attend import marian Helsinki-NLP/opus-mt-en-de checkpoints/en-de"
)
@_import_options
def marian(wanted: _Wanted) -> None:
    """Convert the Marian or OPUS-MT model in SRC to a checkpoint in DIR.

    SRC is a folder in Hugging Face format (config.json, model.safetensors or pytorch_model.bin,
    source.spm, target.spm, vocab.json) or in Marian's own (*.npz, vocab.yml, source.spm,
    target.spm, decoder.yml), or a name on the Hugging Face hub, fetched as by `attend pull`. No
    code in it is executed. DIR must be new or empty.
    """
    _import(import_marian, MarianConfig, wanted)


@import_.command(
    epilog="Example: attend import m2m100 facebook/m2m100_418M checkpoints/m2m100; "
    "attend import m2m100 nllb-200-distilled-600M/ checkpoints/nllb --source en,fr --target en,fr"
)
@_import_options
def m2m100(wanted: _Wanted) -> None:
    """Convert the M2M-100 or NLLB model in SRC to a checkpoint in DIR.

    It translates any of its languages to any other, or those of --source to those of --target. SRC
    is a folder in Hugging Face format (config.json, model.safetensors or pytorch_model.bin,
    sentencepiece.bpe.model, M2M-100's vocab.json), or a name on the Hugging Face hub, fetched as by
    `attend pull`. No code in it is executed. DIR must be new or empty.
    """
    _import(import_m2m100, M2M100Config, wanted)


def _import(
    convert: Callable[[Path, Path, str | None, Languages], CheckpointConfig],
    form: type[MarianConfig],
    wanted: _Wanted,
) -> None:
    check_new_folder(wanted.folder)
    if is_name(wanted.source):
        config = _import_from_hub(convert, form, wanted)
    else:
        config = convert(Path(wanted.source), wanted.folder, wanted.name, wanted.languages)
    click.echo(f"wrote {wanted.folder}: {config.name}, {described(config.directions)}")


def _import_from_hub(
    convert: Callable[[Path, Path, str | None, Languages], CheckpointConfig],
    form: type[MarianConfig],
    wanted: _Wanted,
) -> CheckpointConfig:
    with Hub() as hub:
        try:
            listing = find(hub, wanted.source, wanted.revision)
        except PullError as error:
            raise PullError(f"{error} (and there is no folder {wanted.source})") from None
        cache, beside = wanted.cache or default_cache(), wanted.folder.absolute().parent
        check = partial(_check_form, form)
        with fetched(hub, listing, cache, beside, check=check, bar=download_progress) as folder:
            return convert(folder, wanted.folder, wanted.name, wanted.languages)


def _check_form(form: type[MarianConfig], folder: Path) -> None:
    """Raise `CheckpointError` if config.json is of a model that this verb does not import."""
    if not (folder / KEPT_FOLDER / CONFIG_FILE).exists():  # else attend exported it
        path = folder / CONFIG_FILE
        check_model_type(path, read_object(path), form)


def _codes(option: str) -> list[str]:
    return [code.strip() for code in option.split(",") if code.strip()]
