"""Fetches what an import needs of a model: the small files, then the weights."""

import fcntl
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.progress import Progress

from app.errors import PullError
from app.hub.download import PART, download
from app.hub.listing import (
    CONFIG_FILE,
    Listing,
    RemoteFile,
    list_files,
    small_files,
    weight_files,
)
from app.hub.names import check_revision, repository_of
from app.hub.requests import Hub

SPARE_BYTES = 50_000_000
"""Required in addition to the download and the checkpoint, which may be twice as large."""


def find(hub: Hub, name: str, revision: str) -> Listing:
    """Look up a name on the hub. Raises `PullError`, also if HF_HUB_OFFLINE is set."""
    repository = repository_of(name)
    check_revision(revision)
    return list_files(hub, repository, revision)


@contextmanager
def fetched(
    hub: Hub,
    listing: Listing,
    cache: Path,
    destination: Path,
    *,
    check: Callable[[Path], object],
    bar: Callable[[], Progress],
    keep: bool = False,
) -> Iterator[Path]:
    """Download what an import needs to a folder, which is removed once the block has succeeded.

    destination  where the import will write; its disk needs space, too
    check        raises for a folder, still without weights, that cannot be imported
    bar          makes the progress bars of the small files and of the weights
    keep         whether the download stays in `cache`

    If the block fails or is interrupted, the download stays and need not be fetched again. Raises
    `PullError`.
    """
    downloads = cache / "hub" / listing.repository.replace("/", "--")
    with only_one(downloads, listing.repository):
        folder = downloads / listing.revision / listing.repository.rpartition("/")[2]
        _download(hub, listing, small_files(listing), folder, bar())
        if (folder / CONFIG_FILE).exists():
            check(folder)  # before gigabytes of weights
        weights = weight_files(listing)
        _check_space(listing, weights, folder, destination)
        _download(hub, listing, weights, folder, bar())
        yield folder
        if not keep:
            shutil.rmtree(downloads, ignore_errors=True)


def _check_space(
    listing: Listing, weights: Sequence[RemoteFile], folder: Path, destination: Path
) -> None:
    """Raise `PullError` if the disks lack space for the download or the checkpoint."""
    downloaded = sum(
        path.stat().st_size
        for file in weights
        for path in (folder / file.path, folder / (file.path + PART))
        if path.exists()
    )
    size = _total_size(weights)
    needed = [(folder, size - downloaded), (destination, 2 * size + SPARE_BYTES)]
    destination.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_dev == destination.stat().st_dev:
        needed = [(destination, sum(n_bytes for _, n_bytes in needed))]
    for where, n_bytes in needed:
        free = shutil.disk_usage(where).free
        if free < n_bytes:
            raise PullError(
                f"{listing.repository}: needs {n_bytes / 1e6:,.0f} MB in {where}, where "
                f"{free / 1e6:,.0f} MB are free"
            )


def _total_size(files: Sequence[RemoteFile]) -> int:
    return sum(file.size for file in files)


def _download(
    hub: Hub, listing: Listing, files: Sequence[RemoteFile], folder: Path, bar: Progress
) -> None:
    with bar as progress:
        task = progress.add_task(listing.repository, total=_total_size(files))
        done = 0
        for file in files:
            progress.update(task, description=file.path)

            def report(n_bytes: int, before: int = done) -> None:
                progress.update(task, completed=before + n_bytes)

            download(hub, listing, file, folder, report)
            done += file.size


@contextmanager
def only_one(downloads: Path, name: str) -> Iterator[None]:
    """Lock a model against being fetched twice at a time. Raises `PullError`."""
    downloads.parent.mkdir(parents=True, exist_ok=True)
    with downloads.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PullError(f"{name}: another process is fetching it") from None
        yield
