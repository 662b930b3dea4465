"""The SHA-256 of files of a checkpoint, in the form of the command `sha256sum`."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from model.checkpoint.config import read_file, write_text
from model.errors import CheckpointError

CHECKSUMS_FILE = "SHA256SUMS"

_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")


def checksums_of(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each file by name."""
    found: dict[str, str] = {}
    for name in names:
        with (folder / name).open("rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()  # in small pieces
    return found


def lines_of(checksums: Mapping[str, str]) -> str:
    """Return what `sha256sum` prints."""
    return "".join(f"{digest}  {name}\n" for name, digest in checksums.items())


def write_checksums(folder: Path, names: Iterable[str]) -> None:
    """Record the SHA-256 of files that have just been written."""
    write_text(folder / CHECKSUMS_FILE, lines_of(checksums_of(folder, names)))


def check_checksums(folder: Path, found: Mapping[str, str]) -> bool:
    """Return whether the folder records all these files.

    Raises `CheckpointError` if one differs from what it records.
    """
    path = folder / CHECKSUMS_FILE
    if not path.exists():
        return False
    recorded: dict[str, str] = {}
    for number, line in enumerate(read_file(path).decode("utf-8", "replace").splitlines(), 1):
        if (match := _LINE.fullmatch(line)) is None:
            raise CheckpointError(f"{path}: line {number} should be a SHA-256 and a file name")
        recorded[match[2]] = match[1].lower()
    for name, digest in found.items():
        if recorded.get(name, digest) != digest:
            raise CheckpointError(
                f"{folder / name}: damaged: its SHA-256 is {digest:.12}…, not "
                f"{recorded[name]:.12}… as in {CHECKSUMS_FILE}; fetch the file again, or delete "
                f"{CHECKSUMS_FILE} if you have changed the file"
            )
    return found.keys() <= recorded.keys()
