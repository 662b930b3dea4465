"""Which files of a repository an import needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from app.errors import PullError
from app.hub.listing import Listing, RemoteFile

CONFIG_FILE = "config.json"
README_FILE = "README.md"
KEPT_FOLDER = "attend"
"""In models that attend exported."""

_SMALL = {".json", ".spm", ".model", ".yml", ".yaml", ".txt"}
_MAX_SMALL = 50_000_000
_WEIGHTS = (  # the first that is there, and the index of its shards
    ("model", ".safetensors"),
    ("pytorch_model", ".bin"),
    ("", ".npz"),
)


def small_files(listing: Listing) -> list[RemoteFile]:
    """Return configuration, vocabularies and card, by which to decide whether to go on."""
    return [file for file in listing.files if _is_small(file)]


def weight_files(listing: Listing) -> list[RemoteFile]:
    """Return the weights in the best of the formats that are there. Raises `PullError`."""
    for stem, suffix in _WEIGHTS:
        found = [
            file
            for file in listing.files
            if "/" not in file.path and file.path.startswith(stem) and file.path.endswith(suffix)
        ]
        whole = [file for file in found if file.path == stem + suffix]
        if found:
            return whole or found
    others = sorted({PurePosixPath(file.path).suffix for file in listing.files} - _SMALL)
    raise PullError(
        f"{listing.repository}: has no weights that can be imported: model.safetensors, "
        f"pytorch_model.bin, their shards, or *.npz; it has {', '.join(others) or 'none'}"
    )


def total_size(files: Sequence[RemoteFile]) -> int:
    """Bytes."""
    return sum(file.size for file in files)


def _is_small(file: RemoteFile) -> bool:
    path = PurePosixPath(file.path)
    here = len(path.parts) == 1 or path.parts[0] == KEPT_FOLDER
    return (
        here
        and file.size <= _MAX_SMALL
        and (path.suffix in _SMALL or file.path == README_FILE or path.parts[0] == KEPT_FOLDER)
    )
