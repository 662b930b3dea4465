"""Recognises folders with a Marian model, quickly and without torch."""

from __future__ import annotations

from pathlib import Path

from model.checkpoint.config import CONFIG_FILE
from model.errors import CheckpointError
from model.interop.marian_config import read_object

KEPT_FOLDER = "attend"
"""Stores what the format cannot express, so that an import restores the exported checkpoint."""


def is_marian(folder: Path) -> bool:
    """Whether the folder looks like one for `import_marian`."""
    if (folder / KEPT_FOLDER / CONFIG_FILE).exists():
        return True
    if not (folder / CONFIG_FILE).exists():
        return holds_npz(folder)
    try:
        return read_object(folder / CONFIG_FILE).get("model_type") == "marian"
    except CheckpointError:
        return False


def holds_npz(folder: Path) -> bool:
    """Whether the folder looks like Marian's own format."""
    return any(folder.glob("*.npz"))
