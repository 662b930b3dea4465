"""Downloads one file of a model: resumed where it ended, and verified by size and digest."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

from app.errors import PullError
from app.hub.listing import Listing, RemoteFile
from app.hub.requests import Hub, Interrupted

CHUNK = 1 << 20
PART = ".part"
"""Suffix of an unfinished file."""

Report = Callable[[int], None]
"""Receives the bytes of the file that are there."""


def download(
    hub: Hub, listing: Listing, file: RemoteFile, folder: Path, report: Report = lambda _: None
) -> Path:
    """Return the file in `folder`, complete and verified. Raises `PullError`.

    An interrupted download goes on where it ended, now or when it is called again. A file with
    another digest than the hub announced is deleted.
    """
    path = folder / file.path
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        if _digest_of(path, file) == _expected(file):
            report(file.size)
            return path
        path.unlink()
    part = path.with_name(path.name + PART)

    def there() -> int:
        return part.stat().st_size if part.exists() else 0

    try:
        hub.retried(lambda: _fetch(hub, listing, file, part, report), file.path, there)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise PullError(f"{part}: no space left; free some and run the command again") from None
    if (found := _digest_of(part, file)) != _expected(file):
        part.unlink()
        raise PullError(
            f"{listing.repository}: {file.path} has the digest {found[:12]}…, not "
            f"{_expected(file)[:12]}… as announced; it was deleted: run the command again, or use "
            "another HF_ENDPOINT"
        )
    part.rename(path)
    return path


def _fetch(hub: Hub, listing: Listing, file: RemoteFile, part: Path, report: Report) -> None:
    """Add what is missing. Raises `Interrupted` unless the file has its size afterwards."""
    have = part.stat().st_size if part.exists() else 0
    if have > file.size:
        part.unlink()
        have = 0
    if have == file.size:
        part.touch()  # also an empty file
        report(have)
        return
    url = f"{hub.endpoint}/{listing.repository}/resolve/{listing.revision}/{quote(file.path)}"
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with hub.stream(url, listing.repository, listing.revision, headers) as response:
        if response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()
            raise Interrupted("the hub cannot resume the download")
        resumed = response.status_code == HTTPStatus.PARTIAL_CONTENT and response.headers.get(
            "content-range", ""
        ).startswith(f"bytes {have}-")
        with part.open("ab" if resumed else "wb") as out:
            n_bytes = have if resumed else 0
            for chunk in response.iter_raw():  # in larger pieces, a failure would lose the last
                n_bytes += len(chunk)
                if n_bytes > file.size:
                    raise PullError(
                        f"{listing.repository}: {file.path} is longer than the {file.size:,} bytes "
                        "that were announced"
                    )
                out.write(chunk)
                report(n_bytes)
    if n_bytes < file.size:
        raise Interrupted(f"the connection ended after {n_bytes:,} of {file.size:,} bytes")


def _expected(file: RemoteFile) -> str:
    return file.sha256 or file.blob_sha1 or ""


def _digest_of(path: Path, file: RemoteFile) -> str:
    """Return the digest by which the hub identifies the file."""
    if file.sha256:
        digest = hashlib.sha256()
    else:  # as `git hash-object` computes it
        digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as content:
        while chunk := content.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
