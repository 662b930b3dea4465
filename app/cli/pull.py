"""`attend pull`: fetches a model from the hub, or a folder, onto the shelf."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

from app.cli.display.progress import progress_bar
from app.cli.import_cache import default_cache
from app.cli.options import cache_option, shelf_folder
from app.errors import PullError
from app.hub.download import PART, download
from app.hub.listing import Listing, RemoteFile, list_files
from app.hub.names import check_revision, repository_of
from app.hub.origin import Origin, read_origin, write_origin
from app.hub.requests import Hub
from app.hub.selection import (
    CONFIG_FILE,
    KEPT_FOLDER,
    README_FILE,
    small_files,
    total_size,
    weight_files,
)
from app.text.languages import described
from model.checkpoint.config import CheckpointConfig
from model.errors import CheckpointError
from model.interop.marian_config import read_object

SPARE_BYTES = 50_000_000
"""Beside the download and the checkpoint that it becomes, which has its size or twice that."""


@click.command(epilog="Example: attend pull opus-mt-en-de models && attend serve --models models")
@click.argument("name", metavar="NAME")
@click.argument("shelf", type=click.Path(path_type=Path), metavar="[DIR]", required=False)
@click.option(
    "--revision", default="main", show_default=True, metavar="REV",
    help="Branch, tag or commit of the hub's repository; a commit pins the content.",
)  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace the model if it is in DIR already.")
@click.option("--keep-download", is_flag=True, help="Keep the downloaded files in the cache.")
@cache_option
def pull(  # noqa: PLR0917
    name: str,
    shelf: Path | None,
    revision: str,
    replace: bool,
    keep_download: bool,
    cache: Path | None,
) -> None:
    """Fetch a model and import it into DIR, a folder of models that `attend serve --models` serves.

    NAME is a name on the Hugging Face hub (`opus-mt-en-de` stands for
    `Helsinki-NLP/opus-mt-en-de`) or a folder with a model's files, which needs no network. Sizes
    and digests are verified, and an interrupted download is resumed by the same command.
    HF_ENDPOINT names a mirror, HF_TOKEN a token for gated and private models. DIR is by default
    $ATTEND_MODELS, else `models` in the user's data folder.
    """
    shelf = shelf or shelf_folder()
    if Path(name).is_dir():
        folder = Path(name).resolve()
        origin = Origin(repository=str(folder))
        config = _import(folder, shelf / folder.name, origin, replace=replace)
        _tell(shelf / folder.name, config)
        return
    repository = repository_of(name)
    check_revision(revision)
    destination = shelf / repository.rpartition("/")[2]
    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        raise PullError(f"{name}: HF_HUB_OFFLINE is set; pull from a folder instead")
    with Hub() as hub:
        listing = list_files(hub, repository, revision)
        origin = Origin(repository=repository, revision=listing.revision, licence=listing.licence)
        if _is_there(destination, origin, replace=replace):
            click.echo(f"{destination}: is there already, at revision {listing.revision[:12]}")
            return
        downloads = (cache or default_cache()) / "hub" / repository.replace("/", "--")
        with _only_one(downloads, repository):
            folder = downloads / listing.revision / destination.name
            _fetch(hub, listing, folder, shelf)
            config = _import(folder, destination, origin, replace=replace)
            if not keep_download:
                shutil.rmtree(downloads, ignore_errors=True)
    _tell(destination, config)


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


def _fetch(hub: Hub, listing: Listing, folder: Path, shelf: Path) -> None:
    """Download what an import needs, small files first. Raises `PullError`."""
    _download(hub, listing, small_files(listing), folder)
    if (folder / CONFIG_FILE).exists():
        importer_of(folder)  # before gigabytes of weights
    weights = weight_files(listing)
    _check_space(listing, weights, folder, shelf)
    _download(hub, listing, weights, folder)


def _check_space(
    listing: Listing, weights: Sequence[RemoteFile], folder: Path, shelf: Path
) -> None:
    """Raise `PullError` if the disks lack space for the download or the checkpoint."""
    there = sum(
        path.stat().st_size
        for file in weights
        for path in (folder / file.path, folder / (file.path + PART))
        if path.exists()
    )
    size = total_size(weights)
    needed = [(folder, size - there), (shelf, 2 * size + SPARE_BYTES)]
    shelf.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_dev == shelf.stat().st_dev:
        needed = [(shelf, sum(n_bytes for _, n_bytes in needed))]
    for place, n_bytes in needed:
        free = shutil.disk_usage(place).free
        if free < n_bytes:
            raise PullError(
                f"{listing.repository}: needs {n_bytes / 1e6:,.0f} MB in {place}, where "
                f"{free / 1e6:,.0f} MB are free"
            )


def _download(hub: Hub, listing: Listing, files: Sequence[RemoteFile], folder: Path) -> None:
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with progress_bar("{task.description}", *columns, transient=False) as progress:
        task = progress.add_task(listing.repository, total=total_size(files))
        done = 0
        for file in files:
            progress.update(task, description=file.path)

            def report(n_bytes: int, before: int = done) -> None:
                progress.update(task, completed=before + n_bytes)

            download(hub, listing, file, folder, report)
            done += file.size


@contextmanager
def _only_one(downloads: Path, repository: str) -> Iterator[None]:
    """Refuse to fetch one model twice at a time. Raises `PullError`."""
    downloads.parent.mkdir(parents=True, exist_ok=True)
    with downloads.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PullError(f"{repository}: another `attend pull` is fetching it") from None
        yield


Importer = Callable[[Path, Path, str], CheckpointConfig]


def importer_of(folder: Path) -> Importer:
    """Return the function that imports a folder's model, by its `model_type`.

    Raises `PullError` for an architecture that cannot be imported.
    """
    importers: dict[str, Importer] = {"marian": _import_marian, "m2m_100": _import_m2m100}
    if (folder / KEPT_FOLDER / CONFIG_FILE).exists() or not (folder / CONFIG_FILE).exists():
        return _import_marian  # attend's own exports, and Marian's own format
    model_type = read_object(folder / CONFIG_FILE).get("model_type")
    if model_type not in importers:
        raise PullError(
            f"{folder.name}: is a {model_type!r} model; attend imports {', '.join(importers)}"
        )
    return importers[model_type]


def _import_m2m100(folder: Path, destination: Path, name: str) -> CheckpointConfig:
    from model.interop.marian_import import import_m2m100  # needs torch

    return import_m2m100(folder, destination, name)


def _import_marian(folder: Path, destination: Path, name: str) -> CheckpointConfig:
    from model.interop.marian_import import import_marian  # needs torch

    return import_marian(folder, destination, name)


def _import(folder: Path, destination: Path, origin: Origin, *, replace: bool) -> CheckpointConfig:
    """Import into the shelf; a server sees the model once it is complete."""
    if destination.exists() and not replace:
        raise PullError(f"{destination}: exists; --replace replaces it")
    unfinished = destination.with_name(f".{destination.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    importer = importer_of(folder)
    try:
        config = importer(folder, unfinished, destination.name)
        write_origin(unfinished, origin)
        if (folder / README_FILE).exists():
            shutil.copyfile(folder / README_FILE, unfinished / README_FILE)
        _put(unfinished, destination)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return config


def _put(unfinished: Path, destination: Path) -> None:
    old = destination.with_name(f".{destination.name}.replaced")
    shutil.rmtree(old, ignore_errors=True)
    try:
        if destination.exists():
            destination.rename(old)
        unfinished.rename(destination)
    except OSError as error:
        raise CheckpointError(f"{destination}: {error.strerror}") from None
    shutil.rmtree(old, ignore_errors=True)


def _tell(destination: Path, config: CheckpointConfig) -> None:
    click.echo(f"wrote {destination}: {config.name}, {described(config.directions)}")
