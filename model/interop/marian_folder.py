"""Which folders hold a Marian model, told at a glance and without torch."""

from __future__ import annotations

from pathlib import Path

from model.checkpoint.config import CONFIG_FILE
from model.errors import CheckpointError
from model.interop.marian_config import read_object

KEPT_FOLDER = "attend"
"""What their form has no place for, so that an import gives back what was exported."""


def is_marian(folder: Path) -> bool:
    """Whether the folder is one for `import_marian`, as far as a glance tells."""
    if (folder / KEPT_FOLDER / CONFIG_FILE).exists():
        return True
    if not (folder / CONFIG_FILE).exists():
        return holds_npz(folder)
    try:
        return read_object(folder / CONFIG_FILE).get("model_type") == "marian"
    except CheckpointError:
        return False


def holds_npz(folder: Path) -> bool:
    """Whether it looks like Marian's own format."""
    return any(folder.glob("*.npz"))
