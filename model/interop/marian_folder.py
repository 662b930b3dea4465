"""Recognises the folders of models that can be imported, without torch."""

import re
from pathlib import Path

from model.checkpoint.config import CONFIG_FILE
from model.checkpoint.shelf_folder import PACKAGE_SUFFIX
from model.errors import CheckpointError
from model.interop.huggingface.config_files import read_object
from model.interop.huggingface.settings import VERBS

_FIREFOX_NAME = re.compile(r"model\.[a-z_]+\..*bin(\.gz)?")

CTRANSLATE2_FILE = "model.bin"
ARGOS_METADATA_FILE, ARGOS_MODEL_FOLDER = "metadata.json", "model"

KEPT_FOLDER = "attend"
"""Subfolder of an export for what the format cannot express, so that an import restores it."""


def model_name(folder: Path) -> str:
    """Return a folder's name; the model's if the hub's cache has named it after a commit."""
    path = folder.resolve()
    if path.parent.name == "snapshots" and path.parents[1].name.startswith("models--"):
        return path.parents[1].name.rpartition("--")[2]
    return path.name


def project_of(folder: Path) -> str | None:
    """Return the verb of `attend import` for a folder or *.argosmodel, None for others."""
    if folder.suffix == PACKAGE_SUFFIX and folder.is_file():
        return "argos"
    if not folder.is_dir():
        return None
    if (folder / ARGOS_METADATA_FILE).exists() and (folder / ARGOS_MODEL_FOLDER).is_dir():
        return "argos"
    if (folder / KEPT_FOLDER / CONFIG_FILE).exists():
        return "marian"
    if not (folder / CONFIG_FILE).exists():
        if is_ctranslate2(folder):  # of version 5, without a configuration
            return "ctranslate2"
        if firefox_models(folder):
            return "firefox"
        return "marian" if contains_npz(folder) else None
    if is_ctranslate2(folder):
        return "ctranslate2"
    try:
        return VERBS.get(str(read_object(folder / CONFIG_FILE).get("model_type")))
    except CheckpointError:
        return None


def firefox_models(folder: Path) -> list[Path]:
    """Return the files of a folder that have the names of Firefox's models."""
    return sorted(path for path in folder.glob("model.*") if _FIREFOX_NAME.fullmatch(path.name))


def contains_npz(folder: Path) -> bool:
    """Whether the folder looks like Marian's own format."""
    return any(folder.glob("*.npz"))


def is_ctranslate2(folder: Path) -> bool:
    """Whether the folder looks like CTranslate2's, which alone has such vocabularies."""
    return any(folder.glob("*_vocabulary.json")) or any(folder.glob("*_vocabulary.txt"))
