"""Which files a model has on the hub, at which revision, under which licence.

GET /api/models/OWNER/NAME/revision/REVISION?blobs=true answers with the commit (`sha`) and, for
each file (`siblings`), its size and the digest of its content: for a file in Git LFS the SHA-256,
for any other its Git object name, a SHA-1 of "blob SIZE\\0" and the content.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import httpx
from pydantic import BaseModel, ValidationError

from app.errors import PullError
from app.hub.requests import Hub

_COMMIT = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True)
class RemoteFile:
    """A file on the hub; one of `sha256` and `blob_sha1` is known."""

    path: str
    size: int
    sha256: str | None
    blob_sha1: str | None


@dataclass(frozen=True)
class Listing:
    """A model at one commit. `licence` is as the publisher's card has it, if it does."""

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
        info = _ModelInfo.model_validate(_json(response))
    except (ValidationError, ValueError):
        kind = response.headers.get("content-type", "an unknown type")
        raise PullError(
            f"{repository}: {hub.endpoint} answered with {kind}, not as the hub does; "
            "check HF_ENDPOINT"
        ) from None
    if not _COMMIT.fullmatch(info.sha):
        raise PullError(f"{repository}: the hub's commit {info.sha[:80]!r} is not one")
    files = [_file(repository, one) for one in info.siblings]
    return Listing(repository, info.sha, _licence(info), files)


def _json(response: httpx.Response) -> Any:
    return response.json()


def _file(repository: str, said: _Sibling) -> RemoteFile:
    path = PurePosixPath(said.rfilename)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise PullError(f"{repository}: has a file called {said.rfilename[:80]!r}")
    if said.lfs:
        return RemoteFile(str(path), said.lfs.size, said.lfs.sha256, None)
    if said.size is None or said.blobId is None:
        raise PullError(
            f"{repository}: the hub gives neither size nor digest of {said.rfilename[:80]!r}, so "
            "that a download could not be verified"
        )
    return RemoteFile(str(path), said.size, None, said.blobId)


def _licence(info: _ModelInfo) -> str | None:
    said = info.cardData.license if info.cardData else None
    if isinstance(said, list):
        said = ", ".join(said)
    tagged = [tag.removeprefix("license:") for tag in info.tags if tag.startswith("license:")]
    return said or ", ".join(tagged) or None
