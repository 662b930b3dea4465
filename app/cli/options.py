"""Options shared by several verbs."""

import os
from contextlib import suppress
from pathlib import Path
from typing import get_args

import click

from app.errors import InvalidRequestError, UnknownLanguagesError
from app.languages.served import Languages, described
from app.settings import env_name
from app.shipped import SHIPPED_CHECKPOINT
from app.wire.native.fields import MAX_BEAM_SIZE
from model.checkpoint.config import CheckpointConfig
from model.checkpoint.reader import Checkpoint
from model.checkpoint.shelf_folder import find_checkpoints
from model.decoding.hypothesis import MAX_LENGTH_PENALTY, SearchOptions
from model.engine.protocol import PrecisionChoice
from model.errors import LanguageError


def _the_only(_: click.Context, __: click.Parameter, folders: tuple[Path, ...]) -> Path:
    """Require one folder; the environment may name several for a server."""
    if len(folders) > 1:
        named = ", ".join(map(str, folders))
        raise click.BadParameter(f"expected one, got {len(folders)}: {named}")
    return folders[0] if folders else SHIPPED_CHECKPOINT


path_type = click.Path(path_type=Path)
checkpoint = click.option(
    "--checkpoint", type=path_type, multiple=True, callback=_the_only,
    envvar=env_name("checkpoint"), metavar="DIR",
    help="Checkpoint folder [default: $ATTEND_CHECKPOINT, else the shipped one].",
)  # fmt: skip
cache = click.option(
    "--cache", type=path_type, envvar=env_name("cache"), metavar="DIR",
    help="Folder for downloads and converted models [default: $ATTEND_CACHE, else the user's "
    "cache folder].",
)  # fmt: skip
revision = click.option(
    "--revision", default="main", show_default=True, metavar="REV",
    help="Branch, tag or commit of the hub's repository; a commit pins the content.",
)  # fmt: skip
source = click.option("--source", metavar="CODE", help="Source language, such as en.")
target = click.option("--target", metavar="CODE", help="Target language, such as fr.")
columns = click.option(
    "--columns", metavar="CODE,CODE",
    help="Languages of the files' columns [default: both languages in alphabetical order: "
    "en,fr for either direction].",
)  # fmt: skip
beam_size = click.option(
    "--beam-size", type=click.IntRange(1, MAX_BEAM_SIZE),
    help="Beam size; 1 is greedy [default: the checkpoint's].",
)  # fmt: skip
length_penalty = click.option(
    "--length-penalty", type=click.FloatRange(0, MAX_LENGTH_PENALTY), metavar="α",
    help="α of Wu et al. 2016 [default: the checkpoint's].",
)  # fmt: skip
device = click.option(
    "--device", default="auto", show_default=True, envvar=env_name("device"),
    help="auto, cpu, cuda, cuda:1, xpu or mps; auto uses an NVIDIA or AMD GPU if any.",
)  # fmt: skip
precision = click.option(
    "--precision", type=click.Choice(get_args(PrecisionChoice)), default="auto", show_default=True,
    envvar=env_name("precision"), help="auto is int8 on a CPU, bf16 on a GPU that has it.",
)  # fmt: skip
threads = click.option(
    "--threads", type=click.IntRange(1), envvar=env_name("threads"),
    help="CPU cores to use [default: all].",
)  # fmt: skip


registry = click.option(
    "--registry", metavar="URL",
    help="Where Firefox's models or Argos's packages are listed: a mirror's models.json or "
    "index.json, or a folder with one [default: Mozilla's, Argos's].",
)  # fmt: skip


def shelf_folder() -> Path:
    """Return the folder of models: $ATTEND_MODELS, else the user's (XDG Base Directory)."""
    if given := os.environ.get(env_name("models")):
        return Path(given)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "attend" / "models"


def pulled_checkpoint(source: str | None, target: str | None) -> Path | None:
    """Return the first pulled model that translates the given languages, if one is given."""
    folder = shelf_folder()
    found = find_checkpoints(folder)[0] if (source or target) and folder.is_dir() else []
    for pulled in found:
        with suppress(InvalidRequestError, UnknownLanguagesError):
            Languages(pulled.config.directions).resolve(source, target)
            return pulled.folder
    return None


def choose_direction(
    config: CheckpointConfig, source: str | None, target: str | None
) -> tuple[str, str]:
    """Return the direction that the options select; the checkpoint's first if neither is given.

    Raises `LanguageError`.
    """
    if source is None and target is None:
        return config.directions[0]
    try:
        return Languages(config.directions).resolve(source, target)
    except (InvalidRequestError, UnknownLanguagesError):
        raise not_translated(config, source, target) from None


def not_translated(
    config: CheckpointConfig, source: str | None, target: str | None
) -> LanguageError:
    """Return the error for languages that a checkpoint does not translate."""
    return LanguageError(
        f"'{config.name}' does not translate"
        f"{f' from {source}' if source else ''}{f' into {target}' if target else ''}; "
        f"it translates {described(config.directions)}"
    )


def source_column(columns: str | None, direction: tuple[str, str]) -> int:
    """Return the source's column by --columns, 0 or 1. Raises `click.BadParameter`."""
    codes = [code.lower() for code in direction]
    given = sorted(codes) if columns is None else columns.lower().split(",")
    if sorted(given) != sorted(codes):
        both = " and ".join(direction)
        raise click.BadParameter(f"must name {both} once each", param_hint="--columns")
    return given.index(codes[0])


def search_options(
    loaded: Checkpoint,
    target: str,
    beam_size: int | None = None,
    length_penalty: float | None = None,
) -> SearchOptions:
    """Return how to search for a target language: the given options, else the checkpoint's."""
    config = loaded.config
    return SearchOptions(
        beam_size=config.beam_size if beam_size is None else beam_size,
        length_penalty=config.length_penalty if length_penalty is None else length_penalty,
        rule=config.search_rule,
        first_id=loaded.tokenizer.first_id(target),
        processors=config.logits_processors,
        shortlist=loaded.shortlist if config.shortlist else None,
    )
