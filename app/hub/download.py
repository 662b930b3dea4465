"""Downloads one file of a model: resumed where it ended, and verified by size and digest."""

import errno
import hashlib
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

from app.errors import PullError
from app.hub.listing import Listing, RemoteFile
from app.hub.requests import FileServer, Hub, Interrupted

PART = ".part"
"""Suffix of an unfinished file."""

Report = Callable[[int], None]
"""Receives the number of bytes downloaded so far."""


def download(
    hub: Hub, listing: Listing, file: RemoteFile, folder: Path, report: Report = lambda _: None
) -> Path:
    """Return the file in `folder`, complete and verified. Raises `PullError`.

    An interrupted download is resumed, now or by the next call. A file with a wrong digest is
    deleted.
    """
    path = folder / file.path
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        if _digest_of(path, file) == file.digest:
            report(file.size)
            return path
        path.unlink()
    part = path.with_name(path.name + PART)

    try:
        hub.retried(
            lambda: _fetch(hub, listing, file, part, report), file.path, lambda: _size_of(part)
        )
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise PullError(f"{part}: no space left; free some and run the command again") from None
    if (found := _digest_of(part, file)) != file.digest:
        part.unlink()
        raise PullError(
            f"{listing.repository}: {file.path} has the digest {found[:12]}…, not "
            f"{file.digest[:12]}… as announced; it was deleted: run the command again, or use "
            "another HF_ENDPOINT"
        )
    part.rename(path)
    return path


def _size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _fetch(hub: Hub, listing: Listing, file: RemoteFile, part: Path, report: Report) -> None:
    """Download the rest of the file. Raises `Interrupted` if it is not complete afterwards."""
    have = _size_of(part)
    if have > file.size:
        part.unlink()
        have = 0
    if have == file.size:
        part.touch()  # also an empty file
        report(have)
        return
    url = f"{hub.endpoint}/{listing.repository}/resolve/{listing.revision}/{quote(file.path)}"
    name = f"{listing.repository}: {file.path}"
    if not fetch_rest(
        hub, url, part, report, file.size, name, listing.repository, listing.revision
    ):
        part.unlink()
        raise Interrupted("the hub cannot resume the download")
    if (n_bytes := _size_of(part)) < file.size:
        raise Interrupted(f"the connection ended after {n_bytes:,} of {file.size:,} bytes")


def fetch_file(server: FileServer, url: str, part: Path, report: Report, max_bytes: int) -> None:
    """Download a file of unknown size into `part`, resumed and retried. Raises `PullError`."""
    name = part.name.removesuffix(PART)
    server.retried(
        lambda: fetch_rest(server, url, part, report, max_bytes, name, name, ""),
        name,
        lambda: _size_of(part),
    )


def fetch_rest(  # noqa: PLR0917
    hub: Hub,
    url: str,
    part: Path,
    report: Report,
    max_bytes: int,
    name: str,
    repository: str,
    revision: str,
) -> bool:
    """Append the missing part of an unfinished file, or rewrite it if the server sends all of it.

    Returns False if the server has no more (416). Raises `PullError`, also for a file of more than
    `max_bytes`, and `Interrupted`.
    """
    have = _size_of(part)
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with hub.stream(url, repository, revision, headers) as response:
        if response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return False
        is_rest = response.status_code == HTTPStatus.PARTIAL_CONTENT and response.headers.get(
            "content-range", ""
        ).startswith(f"bytes {have}-")
        n_bytes = have if is_rest else 0
        with part.open("ab" if is_rest else "wb") as out:
            for chunk in response.iter_raw():  # in larger pieces, a failure would lose the last
                n_bytes += len(chunk)
                if n_bytes > max_bytes:
                    raise PullError(f"{name} is longer than {max_bytes:,} bytes")
                out.write(chunk)
                report(n_bytes)
    return True


def _digest_of(path: Path, file: RemoteFile) -> str:
    """Return the digest by which the hub identifies the file."""
    if file.is_lfs:
        digest = hashlib.sha256()
    else:  # as `git hash-object` computes it
        digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as content:
        return hashlib.file_digest(content, lambda: digest).hexdigest()
