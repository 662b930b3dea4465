"""Reads a package of Argos Translate, which LibreTranslate serves: a folder, or *.argosmodel.

A package is a zip archive of one folder: metadata.json, a CTranslate2 folder `model`, and the
SentencePiece model of both sides, or BPE codes in older packages. Facts are from argostranslate
1.11 (MIT), `package.py`, `tokenizer.py` and `translate.py`.
"""

import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from model.errors import CheckpointError
from model.interop.ctranslate2_reader import read_ctranslate2
from model.interop.foreign_model import ForeignModel
from model.interop.huggingface.config_files import read_object
from model.interop.languages import Languages
from model.interop.marian_folder import ARGOS_METADATA_FILE, ARGOS_MODEL_FOLDER
from model.text.language_codes import standard_code
from model.text.moses_pieces import BPE_FILE

PIECES_FILE = "sentencepiece.model"
MAX_PACKAGE_BYTES = 2_000_000_000
"""Unpacked; the largest published packages have 0.4 GB."""
_MAX_MEMBERS = 10_000

_BEAM_SIZE, _LENGTH_PENALTY = 4, 0.2
"""The search of Argos's `apply_packaged_translation`."""
_CODES = {"pb": "pt-BR", "zt": "zh-Hant"}
"""Argos's own codes."""


def read_argos(package: Path, languages: Languages) -> ForeignModel:
    """Read and validate an unpacked package. Raises `CheckpointError`."""
    path = package / ARGOS_METADATA_FILE
    metadata = read_object(path)
    if (kind := metadata.get("type", "translate")) != "translate":
        raise CheckpointError(
            f"{path}: a package of type {kind!r}; attend imports those of type 'translate', and "
            "splits sentences by itself"
        )
    if not (languages.sources or languages.targets):
        given = [_text(path, metadata, key) for key in ("from_code", "to_code")]
        codes = [_CODES.get(code) or standard_code(code) for code in given]
        languages = Languages(codes[:1], codes[1:])
    pieces, moses = package / PIECES_FILE, None
    if not pieces.exists():
        pieces = package / BPE_FILE
        if not pieces.exists():
            raise CheckpointError(f"{package}: no {PIECES_FILE} and no {BPE_FILE}")
        moses = (_text(path, metadata, "from_code"), _text(path, metadata, "to_code"))
    found = read_ctranslate2(
        package / ARGOS_MODEL_FOLDER,
        languages,
        beam_size=_BEAM_SIZE,
        length_penalty=_LENGTH_PENALTY,
        pieces=pieces,
        moses=moses,
        first_token=str(metadata.get("target_prefix") or ""),
    )
    version = metadata.get("package_version")
    return replace(found, project="Argos Translate", origin=f"package version {version}")


@contextmanager
def unpacked(package: Path) -> Iterator[Path]:
    """Yield the folder of a package, unpacked for the time being if it is a file.

    Only what an import reads is unpacked. Raises `CheckpointError` for an archive that is damaged,
    too large, or has members outside of its folder.
    """
    if package.is_dir():
        yield package
        return
    with tempfile.TemporaryDirectory(prefix="attend-argos-") as scratch:
        folder = Path(scratch)
        try:
            with zipfile.ZipFile(package) as archive:
                _unpack(package, archive, folder)
        except OSError as error:
            raise CheckpointError(f"{package}: {error.strerror or error}") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise CheckpointError(f"{package}: not a readable zip archive: {reason}") from None
        found = [path.parent for path in sorted(folder.rglob(ARGOS_METADATA_FILE))]
        if len(found) != 1:
            raise CheckpointError(
                f"{package}: expected one {ARGOS_METADATA_FILE} in a package of Argos Translate, "
                f"found {len(found)}"
            )
        yield found[0]


def _unpack(package: Path, archive: zipfile.ZipFile, folder: Path) -> None:
    members = archive.infolist()
    if len(members) > _MAX_MEMBERS:
        raise CheckpointError(f"{package}: has {len(members):,} files")
    if (total := sum(member.file_size for member in members)) > MAX_PACKAGE_BYTES:
        raise CheckpointError(
            f"{package}: unpacks to {total:,} bytes, more than {MAX_PACKAGE_BYTES:,}"
        )
    for member in members:
        path = PurePosixPath(member.filename)
        is_link = stat.S_ISLNK(member.external_attr >> 16)
        if path.is_absolute() or ".." in path.parts or "\\" in member.filename or is_link:
            raise CheckpointError(
                f"{package}: has a member called {member.filename[:80]!r}, which may leave its "
                "folder; not unpacked"
            )
        if member.is_dir() or not _is_read(path):
            continue
        destination = folder / path
        destination.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as content, destination.open("wb") as out:
            shutil.copyfileobj(content, out)  # at most `file_size` bytes


def _is_read(path: PurePosixPath) -> bool:
    """Whether an import reads it: the package's own files, and those of `model`."""
    inner = path.parts[-2:-1]
    return len(path.parts) <= 2 or (len(path.parts) == 3 and inner == (ARGOS_MODEL_FOLDER,))


def _text(path: Path, metadata: dict[str, Any], key: str) -> str:
    code = metadata.get(key)
    if not isinstance(code, str) or not code:
        raise CheckpointError(f"{path}: {key} is not the code of a language")
    return code
