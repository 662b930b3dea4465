"""Packages of Argos Translate with random weights."""

import json
import string
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


CODES = """#version: 0.2
t h
th e</w>
a n
an d</w>
o u
i n
d o
c a
ca t</w>
q u
&qu o
e s
"""
_SIGNS = [".", ",", "?", "!", "-", "(", ")", ":", "%", "&apos;", "&quot;", "the", "and", "cat"]


def write_bpe_package(folder: Path, **metadata: Any) -> Path:
    """Write a package with BPE codes: the model's tokens are letters, inside and at the end of
    words, some merges, and signs."""
    write_package(folder, **metadata)
    (folder / "sentencepiece.model").unlink()
    (folder / "bpe.model").write_text(CODES)
    path = folder / "model" / "shared_vocabulary.json"
    tokens = json.loads(path.read_text("utf-8"))
    special = ARGOS.special
    letters = [f"{letter}{end}" for letter in string.ascii_lowercase for end in ("", "@@")]
    named = [*letters, *_SIGNS, "th@@", "an@@", "ou@@", "in@@", "do@@", "ca@@", "es@@"]
    named += [f"{letter}{end}" for letter in string.ascii_uppercase for end in ("", "@@")]
    write_json(path, [*special, *named[: len(tokens) - len(special)]])
    return folder


def pack(folder: Path, path: Path) -> Path:
    """Write the archive of a package."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder.parent))
    return path
