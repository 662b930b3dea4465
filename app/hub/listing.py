"""The files of a model on the hub, and those that an import needs.

GET /api/models/OWNER/NAME/revision/REVISION?blobs=true answers with the commit (`sha`) and, for
each file (`siblings`), its size and the digest of its content: for a file in Git LFS the SHA-256,
for any other its Git object name, a SHA-1 of "blob SIZE\\0" and the content.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pydantic import BaseModel, ValidationError

from app.errors import PullError
from app.hub.requests import Hub

_COMMIT = re.compile(r"[0-9a-f]{40,64}")

CONFIG_FILE = "config.json"
README_FILE = "README.md"
KEPT_FOLDER = "attend"
"""A folder in models that attend exported."""

_SMALL = {".json", ".spm", ".model", ".yml", ".yaml", ".txt"}
_MAX_SMALL = 50_000_000
_WEIGHTS = (  # the first that there is
    ("model", ".safetensors"),
    ("pytorch_model", ".bin"),
    ("model", ".bin"),  # CTranslate2's
    ("", ".npz"),
)


@dataclass(frozen=True)
class RemoteFile:
    """A file on the hub; its digest is a SHA-256 if it is in Git LFS, else a Git object name."""

    path: str
    size: int
    digest: str
    is_lfs: bool


@dataclass(frozen=True)
class Listing:
    """A model at one commit, with the licence that its card states."""

    repository: str
    revision: str
    licence: str | None
    files: Sequence[RemoteFile]


class _Lfs(BaseModel):
    sha256: str
    size: int


class _Sibling(BaseModel):
    rfilename: str
    size: int | None = None
    blobId: str | None = None  # noqa: N815  (the hub's name)
    lfs: _Lfs | None = None


class _Card(BaseModel):
    license: str | list[str] | None = None


class _ModelInfo(BaseModel):
    sha: str
    siblings: list[_Sibling]
    cardData: _Card | None = None  # noqa: N815  (the hub's name)
    tags: list[str] = []


def list_files(hub: Hub, repository: str, revision: str) -> Listing:
    """Ask the hub. Raises `PullError`."""
    url = f"{hub.endpoint}/api/models/{repository}/revision/{revision}"
    response = hub.get(url, repository, revision, params={"blobs": "true"})
    try:
        info = _ModelInfo.model_validate(response.json())
    except (ValidationError, ValueError):
        kind = response.headers.get("content-type", "an unknown type")
        raise PullError(
            f"{repository}: {hub.endpoint} answered with {kind}, not as the hub does; "
            "check HF_ENDPOINT"
        ) from None
    if not _COMMIT.fullmatch(info.sha):
        raise PullError(f"{repository}: the hub's commit {info.sha[:80]!r} is not a commit")
    files = [_file(repository, one) for one in info.siblings]
    return Listing(repository, info.sha, _licence(info), files)


def _file(repository: str, one: _Sibling) -> RemoteFile:
    path = PurePosixPath(one.rfilename)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise PullError(f"{repository}: has a file called {one.rfilename[:80]!r}")
    if one.lfs:
        return RemoteFile(str(path), one.lfs.size, one.lfs.sha256, is_lfs=True)
    if one.size is None or one.blobId is None:
        raise PullError(
            f"{repository}: the hub gives no size or no digest of {one.rfilename[:80]!r}, so a "
            "download could not be verified"
        )
    return RemoteFile(str(path), one.size, one.blobId, is_lfs=False)


def _licence(info: _ModelInfo) -> str | None:
    stated = info.cardData.license if info.cardData else None
    if isinstance(stated, list):
        stated = ", ".join(stated)
    tagged = [tag.removeprefix("license:") for tag in info.tags if tag.startswith("license:")]
    return stated or ", ".join(tagged) or None


def small_files(listing: Listing) -> list[RemoteFile]:
    """Return configuration, vocabularies and card, which show whether it can be imported."""
    return [file for file in listing.files if _is_small(file)]


def weight_files(listing: Listing) -> list[RemoteFile]:
    """Return the weights in the best format that there is. Raises `PullError`."""
    for stem, suffix in _WEIGHTS:
        found = [
            file
            for file in listing.files
            if "/" not in file.path and file.path.startswith(stem) and file.path.endswith(suffix)
        ]
        whole = [file for file in found if file.path == stem + suffix]
        if found:
            return whole or found
    others = sorted({PurePosixPath(file.path).suffix for file in listing.files} - _SMALL)
    raise PullError(
        f"{listing.repository}: has no weights that can be imported: model.safetensors, "
        f"pytorch_model.bin, their shards, model.bin, *.npz; it has {', '.join(others) or 'none'}"
    )


def _is_small(file: RemoteFile) -> bool:
    path = PurePosixPath(file.path)
    here = len(path.parts) == 1 or path.parts[0] == KEPT_FOLDER
    return (
        here
        and file.size <= _MAX_SMALL
        and (path.suffix in _SMALL or file.path == README_FILE or path.parts[0] == KEPT_FOLDER)
    )
