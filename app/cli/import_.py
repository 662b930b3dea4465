"""`attend import`: converts other projects' models."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from app.cli import options
from app.cli.display.progress import download_progress
from app.errors import PullError
from app.hub.fetch import fetched, find
from app.hub.import_cache import default_cache
from app.hub.names import is_name
from app.hub.requests import Hub
from app.languages.served import described
from model.checkpoint.config import CONFIG_FILE, CheckpointConfig
from model.checkpoint.writer import check_new_folder
from model.interop.huggingface.config_files import M2M100Config, MarianConfig, read_object
from model.interop.huggingface.settings import check_model_type
from model.interop.languages import Languages
from model.interop.marian_folder import KEPT_FOLDER
from model.interop.marian_import import (
    import_argos,
    import_ctranslate2,
    import_firefox,
    import_m2m100,
    import_marian,
)


@click.group(name="import", epilog="Example: attend import marian opus-mt-en-de/ checkpoints/en-de")
def import_() -> None:
    """Convert another project's model to a checkpoint."""


_OPTIONS = (
    click.argument("source", metavar="SRC"),
    click.argument("folder", type=options.path_type, metavar="DIR"),
    click.option("--name", help="Name of the model in the API [default: that of SRC]."),
    click.option(
        "--source", "sources", metavar="CODE[,CODE…]", default="",
        help="Source languages [default: those that SRC declares].",
    ),
    click.option(
        "--target", "targets", metavar="CODE[,CODE…]", default="",
        help="Target languages [default: those that SRC declares, or all that have symbols].",
    ),
)  # fmt: skip
_HUB_OPTIONS = (options.revision, options.cache)


def _verb(epilog: str, *, from_hub: bool = False) -> Callable[[Callable[..., None]], click.Command]:
    """Make a function a verb with the common options."""

    def register(verb: Callable[..., None]) -> click.Command:
        for option in reversed((*_OPTIONS, *(_HUB_OPTIONS if from_hub else ()))):
            verb = option(verb)
        return import_.command(epilog=epilog)(verb)

    return register


@_verb(
    "\b\nExample: attend import marian opus-mt-en-de/ checkpoints/en-de\n"
    "         attend import marian Helsinki-NLP/opus-mt-en-de checkpoints/en-de",
    from_hub=True,
)
def marian(**options: Any) -> None:
    """Convert the Marian or OPUS-MT model in SRC into DIR.

    SRC is a folder in Hugging Face format (config.json, model.safetensors or pytorch_model.bin,
    source.spm, target.spm, vocab.json) or in Marian's own (*.npz, vocab.yml, source.spm,
    target.spm, decoder.yml), or a name on the Hugging Face hub, fetched as by `attend pull`. No
    code in it is executed. DIR must be new or empty.
    """
    _import(import_marian, MarianConfig, **options)


@_verb(
    "\b\nExample: attend import m2m100 facebook/m2m100_418M checkpoints/m2m100\n"
    "         attend import m2m100 nllb/ models/nllb --source en,fr --target en,fr",
    from_hub=True,
)
def m2m100(**options: Any) -> None:
    """Convert the M2M-100 or NLLB model in SRC into DIR.

    It translates any of its languages to any other, or those of --source to those of --target. SRC
    is a folder in Hugging Face format (config.json, model.safetensors or pytorch_model.bin,
    sentencepiece.bpe.model or NLLB's tokenizer.json, M2M-100's vocab.json), or a name on the
    Hugging Face hub, fetched as by `attend pull`. No code in it is executed. DIR must be new or
    empty.
    """
    _import(import_m2m100, M2M100Config, **options)


@_verb("Example: attend import firefox enfr/ checkpoints/en-fr")
def firefox(**options: Any) -> None:
    """Convert the model of Firefox's in SRC into DIR.

    SRC is a folder with model.*.intgemm.alphas.bin and vocab.*.spm (or srcvocab.*.spm and
    trgvocab.*.spm), each plain or gzipped. The languages are those of metadata.json, or of the name
    of the model if it has two letters each, as in model.enfr.intgemm.alphas.bin; --source and
    --target name others. The 8-bit weights are kept as they are. DIR must be new or empty.
    """
    _convert(import_firefox, **options)


@_verb("Example: attend import ctranslate2 ct2/ models/en-de --source en --target de")
def ctranslate2(**options: Any) -> None:
    """Convert the CTranslate2 folder in SRC into DIR.

    SRC has model.bin and its vocabularies, and the SentencePiece models of the original model:
    source.spm and target.spm, one *.model for both sides, or sentencepiece.bpe.model of M2M-100 or
    NLLB. The languages are --source and --target, or the end of SRC's name, as in opus-mt-en-de;
    M2M-100 and NLLB have tokens for theirs. DIR must be new or empty.
    """
    _convert(import_ctranslate2, **options)


@_verb("Example: attend import argos translate-en_fr-1_9.argosmodel models/en-fr")
def argos(**options: Any) -> None:
    """Convert the package of Argos Translate in SRC into DIR.

    SRC is a *.argosmodel, or a folder of LibreTranslate's packages with metadata.json and `model`,
    as in ~/.local/share/argos-translate/packages. The languages are those of its metadata. DIR must
    be new or empty.
    """
    _convert(import_argos, **options)


_Importer = Callable[[Path, Path, str | None, Languages], CheckpointConfig]


def _convert(
    convert: _Importer,
    *,
    source: str | Path,
    folder: Path,
    name: str | None,
    sources: str,
    targets: str,
) -> None:
    config = convert(Path(source), folder, name, Languages(_codes(sources), _codes(targets)))
    click.echo(f"wrote {folder}: {config.name}, {described(config.directions)}")


def _import(
    convert: _Importer,
    form: type[MarianConfig],
    *,
    source: str,
    folder: Path,
    revision: str,
    cache: Path | None,
    **named: Any,
) -> None:
    check_new_folder(folder)
    if not is_name(source):
        _convert(convert, source=source, folder=folder, **named)
        return
    with Hub() as hub:
        try:
            listing = find(hub, source, revision)
        except PullError as error:
            raise PullError(f"{error} (and there is no folder {source})") from None
        with fetched(
            hub, listing, cache or default_cache(), folder.absolute().parent,
            check=partial(_check_form, form), bar=download_progress,
        ) as downloaded:  # fmt: skip
            _convert(convert, source=downloaded, folder=folder, **named)


def _check_form(form: type[MarianConfig], folder: Path) -> None:
    """Raise `CheckpointError` if config.json is of a model that this verb does not import."""
    if not (folder / KEPT_FOLDER / CONFIG_FILE).exists():  # else attend exported it
        path = folder / CONFIG_FILE
        check_model_type(path, read_object(path), form)


def _codes(option: str) -> list[str]:
    return [code.strip() for code in option.split(",") if code.strip()]
