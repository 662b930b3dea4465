"""Recognises the folders of models that can be imported, without torch."""

from __future__ import annotations

from pathlib import Path

from model.checkpoint.config import CONFIG_FILE
from model.errors import CheckpointError
from model.interop.huggingface.config_files import read_object
from model.interop.huggingface.settings import VERBS

KEPT_FOLDER = "attend"
"""Subfolder of an export for what the format cannot express, so that an import restores it."""


def project_of(folder: Path) -> str | None:
    """Return the verb of `attend import` for a folder, `marian` or `m2m100`; None for others."""
    if (folder / KEPT_FOLDER / CONFIG_FILE).exists():
        return "marian"
    if not (folder / CONFIG_FILE).exists():
        return "marian" if contains_npz(folder) else None
    try:
        return VERBS.get(str(read_object(folder / CONFIG_FILE).get("model_type")))
    except CheckpointError:
        return None


def contains_npz(folder: Path) -> bool:
    """Whether the folder looks like Marian's own format."""
    return any(folder.glob("*.npz"))
