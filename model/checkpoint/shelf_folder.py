"""Finds the checkpoints in a folder of checkpoints, by their configurations alone."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from model.checkpoint.config import CheckpointConfig, read_config
from model.errors import CheckpointError

PACKAGE_SUFFIX = ".argosmodel"
"""Suffix of a file that is a model by itself: an Argos package."""

Fingerprint = tuple[tuple[str, int, int, int], ...]
"""Name, size, time of modification and inode of each file of a checkpoint."""


@dataclass(frozen=True)
class ShelvedCheckpoint:
    """A checkpoint on a shelf, named after its folder; replacing a file changes `fingerprint`."""

    folder: Path
    config: CheckpointConfig
    fingerprint: Fingerprint

    @property
    def n_bytes(self) -> int:
        return sum(size for _, size, _, _ in self.fingerprint)


@dataclass(frozen=True)
class UnusableFolder:
    """A folder on a shelf that is not a readable checkpoint, and the reason in one line."""

    folder: Path
    reason: str


def find_checkpoints(
    shelf: Path, checkpoint_of: Callable[[Path], Path] = lambda path: path
) -> tuple[list[ShelvedCheckpoint], list[UnusableFolder]]:
    """Return the folders in `shelf`, by name, without reading weights.

    `checkpoint_of` may name the checkpoint that another project's model was imported to, which
    keeps the model's name. Other files and hidden folders, such as unfinished imports, are ignored.
    Raises `CheckpointError` if `shelf` is not a folder.
    """
    try:
        found = sorted(path for path in shelf.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise CheckpointError(f"{shelf}: {error.strerror}; expected a folder of models") from None
    usable: list[ShelvedCheckpoint] = []
    unusable: list[UnusableFolder] = []
    for path in found:
        try:
            if path.is_file() and path.suffix != PACKAGE_SUFFIX:
                continue
            folder = checkpoint_of(path)
            if folder.is_dir():
                usable.append(_read(folder, path.name if path.is_dir() else path.stem))
        except CheckpointError as error:
            unusable.append(UnusableFolder(path, str(error)))
        except (OSError, UnicodeError) as error:  # a link into a forbidden folder; no UTF-8
            unusable.append(UnusableFolder(path, f"{str(path)!a}: {error}"))
    return usable, unusable


def _read(folder: Path, name: str) -> ShelvedCheckpoint:
    name.encode()
    files = tuple(_files(folder))
    config = read_config(folder).model_copy(update={"name": name})
    return ShelvedCheckpoint(folder, config, files)


def _files(folder: Path) -> Iterator[tuple[str, int, int, int]]:
    for path in sorted(folder.iterdir()):
        if path.is_file():
            stat = path.stat()
            yield path.name, stat.st_size, stat.st_mtime_ns, stat.st_ino
        elif path.exists() and not path.is_dir():  # reading a pipe would block
            raise CheckpointError(f"{path}: not a regular file")
