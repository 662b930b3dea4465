"""`attend pull`: fetches a model from the hub, or a folder, onto the shelf."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import click
import structlog

from app.cli import options
from app.cli.display.progress import download_progress
from app.errors import PullError, UnknownLanguagesError
from app.hub import argos_index, firefox_registry
from app.hub.download import Report
from app.hub.fetch import fetched, find, only_one
from app.hub.firefox_files import fetch_model
from app.hub.import_cache import checkpoint_folder, default_cache
from app.hub.listing import CONFIG_FILE, README_FILE
from app.hub.names import repository_of
from app.hub.origin import Origin, read_origin, write_origin
from app.hub.requests import FileServer, Hub, UnreachableError
from app.languages.served import Languages, described, is_among
from app.settings import Settings
from model.checkpoint.config import CheckpointConfig, read_config
from model.checkpoint.shelf_folder import find_checkpoints
from model.errors import ModelError
from model.interop.huggingface.config_files import read_object
from model.interop.huggingface.settings import VERBS
from model.interop.marian_folder import model_name, project_of

_log = structlog.get_logger()


@click.command(epilog="Example: attend pull opus-mt-en-de models && attend serve --models models")
@click.argument("name", metavar="NAME")
@click.argument("shelf", type=options.path_type, metavar="[DIR]", required=False)
@options.revision
@click.option(
    "--architecture", type=click.Choice(firefox_registry.ARCHITECTURES),
    help="Architecture of Firefox's models [default: the best one that is released].",
)  # fmt: skip
@options.registry
@click.option("--replace", is_flag=True, help="Replace the model if it is in DIR already.")
@click.option("--keep-download", is_flag=True, help="Keep the downloaded files in the cache.")
@options.cache
def pull(  # noqa: PLR0917
    name: str,
    shelf: Path | None,
    revision: str,
    architecture: firefox_registry.Architecture | None,
    registry: str | None,
    replace: bool,
    keep_download: bool,
    cache: Path | None,
) -> None:
    """Fetch a model and import it into DIR, a folder of models that `attend serve --models` serves.

    NAME is a name on the Hugging Face hub (`opus-mt-en-de` stands for
    `Helsinki-NLP/opus-mt-en-de`), a model of Firefox's (`firefox:en-fr`), several of them
    (`firefox:fr,de,es`: all between these languages and English; `firefox:all`), a package of Argos
    Translate (`argos:en-fr`, `argos:fr,de`, `argos:all`), or a folder with a model's files, such as
    a checkpoint of `attend train`, which needs no network. Sizes and digests are verified where
    the publisher states them, and an
    interrupted download is resumed by the same command. HF_ENDPOINT names a mirror of the hub,
    HF_TOKEN a token for gated and private models. DIR is by default $ATTEND_MODELS, else `models`
    in the user's data folder.
    """
    shelf = shelf or options.shelf_folder()
    kept = cache or default_cache()
    if name.startswith(firefox_registry.PREFIX):
        address = registry or firefox_registry.PUBLIC_REGISTRY
        with firefox_registry.server_of(address) as server:
            models = firefox_registry.read_registry(server, address)
            found = models.choose(name, architecture)
            downloads = [_of_firefox(server, models, one, shelf, kept) for one in found]
            _pull_each(downloads, kept, replace=replace, keep=keep_download)
        return
    if name.startswith(argos_index.PREFIX):
        address = registry or os.environ.get("ARGOS_PACKAGE_INDEX") or argos_index.PUBLIC_INDEX
        with firefox_registry.server_of(address) as server:
            packages = argos_index.choose_packages(argos_index.read_index(server, address), name)
            downloads = [_of_argos(server, one, shelf, kept) for one in packages]
            _pull_each(downloads, kept, replace=replace, keep=keep_download)
        return
    if Path(name).is_dir():
        folder = Path(name).resolve()
        _import(folder, shelf / model_name(folder), Origin(repository=str(folder)), replace=replace)
        return
    repository = repository_of(name)
    destination = shelf / repository.rpartition("/")[2]
    with Hub() as hub:
        listing = find(hub, name, revision)
        origin = Origin(repository=repository, revision=listing.revision, licence=listing.licence)
        if _is_there(destination, origin, replace=replace):
            click.echo(f"{destination}: already at revision {listing.revision[:12]}")
            return
        with fetched(
            hub, listing, kept, shelf,
            check=importer_of, bar=download_progress, keep=keep_download,
        ) as folder:  # fmt: skip
            _import(folder, destination, origin, replace=replace)


Importer = Callable[[Path, Path, str], CheckpointConfig]


class _Download(NamedTuple):
    """A model of a registry: where it goes, and how it is fetched and imported."""

    name: str
    version: str
    destination: Path
    origin: Origin
    fetch: Callable[[Report], Path]
    importer: Importer | None = None


def _of_firefox(
    server: FileServer,
    registry: firefox_registry.Registry,
    model: firefox_registry.FirefoxModel,
    shelf: Path,
    cache: Path,
) -> _Download:
    folder = cache / "firefox" / model.pair / model.architecture / str(model.revision)[:16]
    return _Download(
        model.name,
        model.architecture,
        shelf / f"firefox-{model.pair}",
        Origin(repository=model.name, revision=model.revision, licence=firefox_registry.LICENCE),
        partial(fetch_model, server, registry, model, folder),
        partial(_import_pair, model.source, model.target),
    )


def _of_argos(
    server: FileServer, package: argos_index.ArgosPackage, shelf: Path, cache: Path
) -> _Download:
    return _Download(
        package.name,
        f"version {package.package_version}",
        shelf / package.name,
        Origin(repository=package.name, revision=package.package_version),
        partial(argos_index.fetch_package, server, package, cache / "argos"),
    )


def _fetched(one: _Download, which: str) -> Path:
    with download_progress() as progress:
        task = progress.add_task(one.name + which, total=None)
        return one.fetch(lambda n_bytes: progress.update(task, completed=n_bytes))


def _pull_each(downloads: Sequence[_Download], cache: Path, *, replace: bool, keep: bool) -> None:
    """Fetch and import models; one that fails does not keep the others from it."""
    failed = 0
    for number, one in enumerate(downloads, 1):
        try:
            with only_one(cache / one.destination.name, one.name):
                if _is_there(one.destination, one.origin, replace=replace):
                    click.echo(f"{one.destination}: already there, {one.version}")
                    continue
                path = _fetched(
                    one, f" ({number} of {len(downloads)})" if len(downloads) > 1 else ""
                )
                try:
                    _import(path, one.destination, one.origin, one.importer, replace=replace)
                except (PullError, ModelError):  # a file without a digest may be damaged
                    _delete(path)
                    raise
                if not keep:
                    _delete(path)
        except (PullError, ModelError) as error:
            if len(downloads) == 1 or isinstance(error, UnreachableError):
                raise
            failed += replace or not one.destination.exists()  # else an older version stays
            click.echo(f"{one.name}: {error}", err=True)
    if failed:
        raise PullError(f"{failed} of {len(downloads)} models are missing, for the reasons above")


def _delete(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def pull_missing(settings: Settings) -> None:
    """Fetch the models of Firefox's that the settings' languages lack, if `pull` is set.

    Nothing is requested if every pair is translated, directly or through another language. The
    models are fetched by a process of its own, since importing needs torch. Raises `PullError`.
    """
    missing = _missing_pairs(settings)
    if not (settings.pull and settings.models and settings.languages and missing):
        return
    if not is_among(firefox_registry.PIVOT, settings.languages):
        raise PullError(
            f"'languages': Firefox's models translate from and to English; add "
            f"{firefox_registry.PIVOT}: {','.join((*settings.languages, firefox_registry.PIVOT))}"
        )
    _log.info("models are missing", pairs=described(missing), registry=settings.pull)
    settings.models.mkdir(parents=True, exist_ok=True)
    run_attend = [sys.executable, "-c", "from app.cli.main import main; main()"]
    flags = ["--cache", str(settings.cache)] if settings.cache else []
    if settings.pull != firefox_registry.PREFIX[:-1]:
        flags += ["--registry", settings.pull]
    name = firefox_registry.PREFIX + ",".join(settings.languages)
    with subprocess.Popen(  # noqa: S603  (this program)
        [*run_attend, "pull", name, str(settings.models), *flags],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stdout or ():
            _log.info("models are being fetched", progress=line.strip())
    if process.returncode:
        raise PullError(f"'pull': {name} could not be fetched, for the reason above")
    for source, target in _missing_pairs(settings):
        _log.warning("no model of a pair", source=source, target=target)


def _missing_pairs(settings: Settings) -> list[tuple[str, str]]:
    """Return the pairs of the settings' languages that the models do not translate."""
    folder, checkpoint_of = settings.models, partial(checkpoint_folder, cache=settings.cache)
    there = find_checkpoints(folder, checkpoint_of)[0] if folder and folder.is_dir() else []
    configs = [one.config for one in there] + [read_config(one) for one in settings.checkpoint]
    served = Languages([pair for config in configs for pair in config.directions])
    missing: list[tuple[str, str]] = []
    for source, target in permutations(settings.languages or (), 2):
        try:
            served.chain(source, target)
        except UnknownLanguagesError:
            missing.append((source, target))
    return missing


def _is_there(destination: Path, origin: Origin, *, replace: bool) -> bool:
    """Whether it is there at this revision. Raises `PullError` if another one is."""
    if not destination.exists():
        return False
    there = read_origin(destination)
    if there and (there.repository, there.revision) == (origin.repository, origin.revision):
        return True
    if replace:
        return False
    what = "another model"
    if there and there.revision:
        what = f"{there.repository} at revision {there.revision[:12]}"
    raise PullError(f"{destination}: has {what}; --replace replaces it")


def importer_of(folder: Path) -> Importer:
    """Return what imports a folder's model, by its `model_type`. Raises `PullError`."""
    from model.interop import marian_import  # needs torch

    if project := project_of(folder):
        importer: Importer = getattr(marian_import, f"import_{project}")
        return importer
    if not (folder / CONFIG_FILE).exists():
        return marian_import.import_marian  # which names what is missing
    config = read_object(folder / CONFIG_FILE)
    if "directions" in config:
        return _copy
    model_type = config.get("model_type")
    found = f"is a {model_type!r} model" if model_type else f"{CONFIG_FILE} has no model_type"
    raise PullError(f"{folder.name}: {found}; attend imports {', '.join(VERBS)}")


def _copy(folder: Path, destination: Path, name: str) -> CheckpointConfig:
    """Copy a checkpoint of attend's own format, and verify it. Raises `CheckpointError`."""
    from model.checkpoint.reader import load_checkpoint

    shutil.copytree(folder, destination)
    return load_checkpoint(destination).config.model_copy(update={"name": name})


def _import_pair(source: str, target: str, *named: *tuple[Path, Path, str]) -> CheckpointConfig:
    from model.interop.languages import Languages
    from model.interop.marian_import import import_firefox  # needs torch

    return import_firefox(*named, Languages([source], [target]))


def _import(
    folder: Path,
    destination: Path,
    origin: Origin,
    importer: Importer | None = None,
    *,
    replace: bool,
) -> None:
    """Import into the shelf; a server sees the model once it is complete."""
    if destination.exists() and not replace:
        raise PullError(f"{destination}: exists; --replace replaces it")
    unfinished = destination.with_name(f".{destination.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    old = destination.with_name(f".{destination.name}.replaced")
    shutil.rmtree(old, ignore_errors=True)
    try:
        config = (importer or importer_of(folder))(folder, unfinished, destination.name)
        write_origin(unfinished, origin)
        if (folder / README_FILE).exists():
            shutil.copyfile(folder / README_FILE, unfinished / README_FILE)
        if destination.exists():
            destination.rename(old)
        unfinished.rename(destination)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
    click.echo(f"wrote {destination}: {config.name}, {described(config.directions)}")
