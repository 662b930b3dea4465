"""Marian folders where a checkpoint is expected: imported once, kept by their content."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from app import __version__
from model.errors import CheckpointError
from model.interop.marian_folder import is_marian

_READ = {".json", ".safetensors", ".bin", ".spm", ".npz", ".yml"}
"""Endings of what an import may read."""


def default_cache() -> Path:
    """The user's cache folder (XDG Base Directory Specification). Raises `CheckpointError`."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        raise CheckpointError(
            "there is no home folder to keep imported models in; --cache names another"
        ) from None
    return Path(base) / "attend"


def checkpoint_folder(folder: Path, cache: Path | None) -> Path:
    """`folder` itself, unless it is a Marian model: then its import, made if `cache` has none.

    Nothing is written unless it is whole, and of two that import at once, one is kept. Raises
    `CheckpointError`.
    """
    if not is_marian(folder):
        return folder
    name = folder.resolve().name
    kept = (cache or default_cache()) / "marian" / f"{name}-{_digest(folder)[:16]}"
    if kept.is_dir():
        return kept
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".importing-", dir=kept.parent))
    except OSError as error:
        raise CheckpointError(
            f"{folder}: a Marian model, whose import cannot be kept in {kept.parent} "
            f"({error.strerror}); --cache names another folder"
        ) from None
    # It takes torch, which serving a checkpoint does without.
    from model.interop.marian_import import import_marian

    try:
        import_marian(folder, scratch / "checkpoint", name)
        try:
            (scratch / "checkpoint").rename(kept)
        except OSError:
            if not kept.is_dir():  # else somebody was faster
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return kept


def _digest(folder: Path) -> str:
    """Of the content, and of the attend that imports it."""
    digest = hashlib.sha256(__version__.encode())
    for path in sorted(folder.rglob("*")):
        if path.suffix in _READ and path.is_file():
            digest.update(f"\0{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as file:
                hashlib.file_digest(file, lambda: digest)  # goes on with it, in small pieces
    return digest.hexdigest()
