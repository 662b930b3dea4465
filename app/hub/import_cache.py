"""Imports models of other projects given in place of checkpoints, cached by content."""

import hashlib
import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from app import __version__
from model.errors import CheckpointError
from model.interop.marian_folder import model_name, project_of
from model.interop.unsupported_folder import refusal

_READ = {
    ".json", ".safetensors", ".bin", ".spm", ".npz", ".yml", ".model", ".md", ".gz", ".txt",
    ".argosmodel",
}  # fmt: skip
"""Extensions of the files that an import may read."""

_DIGEST = re.compile("[0-9a-f]{64}")


def default_cache() -> Path:
    """Return the user's cache folder (XDG Base Directory). Raises `CheckpointError`."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        raise CheckpointError(
            "no home folder to cache imported models in; set another folder with --cache"
        ) from None
    return Path(base) / "attend"


def checkpoint_folder(folder: Path, cache: Path | None = None) -> Path:
    """Return `folder`, or the import of another project's model, creating it if not in `cache`.

    Writes are atomic; if two processes import at once, one result is kept. Raises
    `CheckpointError`.
    """
    project = project_of(folder)
    if project is None:
        if reason := refusal(folder):
            raise CheckpointError(reason)
        return folder
    name = folder.resolve().stem if folder.is_file() else model_name(folder)
    cache = cache or default_cache()
    kept = cache / project / f"{name}-{_known_digest(folder, cache / 'digests')[:16]}"
    if kept.is_dir():
        return kept
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".importing-", dir=kept.parent))
    except OSError as error:
        raise CheckpointError(
            f"{folder}: is a {project} model, whose import cannot be cached in {kept.parent} "
            f"({error.strerror}); set another folder with --cache"
        ) from None
    # Importing needs torch, serving does not.
    from model.interop import marian_import

    try:
        getattr(marian_import, f"import_{project}")(folder, scratch / "checkpoint", name)
        try:
            (scratch / "checkpoint").rename(kept)
        except OSError:
            if not kept.is_dir():  # else another process was faster
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return kept


def _known_digest(folder: Path, known: Path) -> str:
    """Return `_digest`, from a file in `known` if no file of the folder has changed since.

    A folder of large models would otherwise be read whole at each start.
    """
    files = [(path, path.stat()) for path in _read_files(folder)]
    status = [(str(path), one.st_size, one.st_mtime_ns, one.st_ino) for path, one in files]
    key = hashlib.sha256(repr((__version__, str(folder.resolve()), status)).encode()).hexdigest()
    with suppress(OSError, UnicodeError):
        if _DIGEST.fullmatch(digest := (known / key).read_text()):
            return digest
    digest = _digest(folder)
    with suppress(OSError):  # the cache may be read-only
        known.mkdir(parents=True, exist_ok=True)
        (known / key).write_text(digest)
    return digest


def _digest(folder: Path) -> str:
    """Return a digest of the content and of the importing version."""
    digest = hashlib.sha256(__version__.encode())
    for path in _read_files(folder):
        digest.update(f"\0{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)  # updates it in small pieces
    return digest.hexdigest()


def _read_files(folder: Path) -> list[Path]:
    paths = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    return [path for path in paths if path.suffix in _READ and path.is_file()]
