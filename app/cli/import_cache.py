"""Imports models of other projects given in place of checkpoints, cached by content."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from app import __version__
from model.errors import CheckpointError
from model.interop.marian_folder import project_of
from model.interop.unsupported_folder import refusal

_READ = {
    ".json", ".safetensors", ".bin", ".spm", ".npz", ".yml", ".model", ".md", ".gz", ".txt",
    ".argosmodel",
}  # fmt: skip
"""Extensions of the files that an import may read."""


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
    name = folder.resolve().stem if folder.is_file() else folder.resolve().name
    kept = (cache or default_cache()) / project / f"{name}-{_digest(folder)[:16]}"
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


def _digest(folder: Path) -> str:
    """Return a digest of the content and of the importing version."""
    digest = hashlib.sha256(__version__.encode())
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*")):
        if path.suffix in _READ and path.is_file():
            digest.update(f"\0{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as file:
                hashlib.file_digest(file, lambda: digest)  # updates it in small pieces
    return digest.hexdigest()
