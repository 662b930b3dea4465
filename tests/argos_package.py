"""Packages of Argos Translate with random weights."""

import zipfile
from pathlib import Path
from typing import Any

from tests.ctranslate2_folder import FAMILIES, write_folder
from tests.marian_folder import write_json

ARGOS = FAMILIES["opennmt-py"]
"""Trained by OpenNMT-py: pre-norm, relu, one vocabulary, no `</s>` after the source."""


def write_package(folder: Path, **metadata: Any) -> Path:
    """Write an unpacked package, as argostranslate installs it."""
    write_folder(folder / "model", ARGOS)
    (folder / "model" / "sentencepiece.model").rename(folder / "sentencepiece.model")
    (folder / "stanza").mkdir()
    (folder / "stanza" / "resources.json").write_text("{}")
    values = {
        "package_version": "1.9", "argos_version": "1.9.0", "from_code": "en",
        "from_name": "English", "to_code": "fr", "to_name": "French",
    }  # fmt: skip
    write_json(folder / "metadata.json", values | metadata)
    return folder


def pack(folder: Path, path: Path) -> Path:
    """Write the archive of a package."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder.parent))
    return path
