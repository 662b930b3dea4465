"""`attend pull`: fetches a model from the hub, or a folder, onto the shelf."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
from rich.progress import Progress, TaskID

from app.cli import options
from app.cli.display.progress import download_progress
from app.cli.import_cache import default_cache
from app.errors import PullError
from app.hub.fetch import fetched, find
from app.hub.firefox_files import fetch_model
from app.hub.firefox_registry import (
    ARCHITECTURES,
    LICENCE,
    PREFIX,
    PUBLIC_REGISTRY,
    Architecture,
    read_registry,
)
from app.hub.listing import CONFIG_FILE, KEPT_FOLDER, README_FILE
from app.hub.names import repository_of
from app.hub.origin import Origin, read_origin, write_origin
from app.hub.requests import FileServer, Hub
from app.languages.served import described
from model.checkpoint.config import CheckpointConfig
from model.interop.huggingface.config_files import read_object


@click.command(epilog="Example: attend pull opus-mt-en-de models && attend serve --models models")
@click.argument("name", metavar="NAME")
@click.argument("shelf", type=options.path_type, metavar="[DIR]", required=False)
@options.revision
@click.option(
    "--architecture", type=click.Choice(ARCHITECTURES),
    help="Of Firefox's models [default: the best one that is released].",
)  # fmt: skip
@click.option(
    "--registry", default=PUBLIC_REGISTRY, metavar="URL",
    help="Where Firefox's models are listed: a mirror's models.json, or a folder with one.",
)  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace the model if it is in DIR already.")
@click.option("--keep-download", is_flag=True, help="Keep the downloaded files in the cache.")
@options.cache
def pull(  # noqa: PLR0917
    name: str,
    shelf: Path | None,
    revision: str,
    architecture: Architecture | None,
    registry: str,
    replace: bool,
    keep_download: bool,
    cache: Path | None,
) -> None:
    """Fetch a model and import it into DIR, a folder of models that `attend serve --models` serves.

    NAME is a name on the Hugging Face hub (`opus-mt-en-de` stands for
    `Helsinki-NLP/opus-mt-en-de`), a model of Firefox's (`firefox:en-fr`), several of them
    (`firefox:fr,de,es`: all between these languages and English; `firefox:all`), or a folder with a
    model's files, which needs no network. Sizes and digests are verified, and an interrupted
    download is resumed by the same command. HF_ENDPOINT names a mirror of the hub, HF_TOKEN a token
    for gated and private models. DIR is by default $ATTEND_MODELS, else `models` in the user's data
    folder.
    """
    shelf = shelf or options.shelf_folder()
    if name.startswith(PREFIX):
        _pull_firefox(name, shelf, registry, architecture, cache or default_cache(), replace)
        return
    if Path(name).is_dir():
        folder = Path(name).resolve()
        _import(folder, shelf / folder.name, Origin(repository=str(folder)), replace=replace)
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
            hub, listing, cache or default_cache(), shelf,
            check=importer_of, bar=download_progress, keep=keep_download,
        ) as folder:  # fmt: skip
            _import(folder, destination, origin, replace=replace)


def _pull_firefox(  # noqa: PLR0917
    name: str,
    shelf: Path,
    address: str,
    architecture: Architecture | None,
    cache: Path,
    replace: bool,
) -> None:
    from model.interop.languages import Languages
    from model.interop.marian_import import import_firefox  # needs torch

    with FileServer(address if "://" in address else PUBLIC_REGISTRY) as server:
        registry = read_registry(server, address)
        for model in registry.choose(name, architecture):
            origin = Origin(repository=model.name, revision=model.revision, licence=LICENCE)
            destination = shelf / f"firefox-{model.pair}"
            if _is_there(destination, origin, replace=replace):
                click.echo(f"{destination}: already there, {model.architecture}")
                continue
            folder = cache / "firefox" / model.pair / model.architecture / str(model.revision)[:16]
            with download_progress() as progress:
                task = progress.add_task(model.name, total=None)
                fetch_model(server, registry, model, folder, partial(_advance, progress, task))
            languages = Languages([model.source], [model.target])
            importer = partial(import_firefox, languages=languages)
            _import(folder, destination, origin, replace=replace, importer=importer)
            shutil.rmtree(folder)


def _advance(progress: Progress, task: TaskID, n_bytes: int) -> None:
    progress.update(task, completed=n_bytes)


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


Importer = Callable[[Path, Path, str], CheckpointConfig]


def importer_of(folder: Path) -> Importer:
    """Return the function that imports a folder's model, by its `model_type`.

    Raises `PullError` for an architecture that cannot be imported.
    """
    from model.interop.marian_folder import firefox_models
    from model.interop.marian_import import import_firefox, import_m2m100, import_marian  # torch

    importers: dict[str, Importer] = {"marian": import_marian, "m2m_100": import_m2m100}
    if firefox_models(folder) and not (folder / CONFIG_FILE).exists():
        return import_firefox
    if (folder / KEPT_FOLDER / CONFIG_FILE).exists() or not (folder / CONFIG_FILE).exists():
        return import_marian  # attend's own exports, and Marian's own format
    model_type = read_object(folder / CONFIG_FILE).get("model_type")
    if model_type in importers:
        return importers[model_type]
    found = f"is a {model_type!r} model" if model_type else f"{CONFIG_FILE} has no model_type"
    raise PullError(f"{folder.name}: {found}; attend imports {', '.join(importers)}")


def _import(
    folder: Path,
    destination: Path,
    origin: Origin,
    *,
    replace: bool,
    importer: Importer | None = None,
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
