"""Downloads and unpacks the files of one of Firefox's models: resumed, and verified."""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from app.errors import PullError
from app.hub.download import PART, Report, fetch_file
from app.hub.firefox_registry import FirefoxModel, Registry, RegistryFile
from app.hub.requests import FileServer, MissingError

_MAX_FILE_BYTES = 500_000_000
_CHUNK = 1 << 20


def fetch_model(
    server: FileServer,
    registry: Registry,
    model: FirefoxModel,
    folder: Path,
    report: Report,
) -> Path:
    """Download and unpack the files of a model into `folder`, and return it. Raises `PullError`.

    Complete files are not fetched again, and partial ones are resumed. `report` receives the number
    of compressed bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    done = 0

    def report_all(n_bytes: int) -> None:
        report(done + n_bytes)

    for file in model.files:
        unpacked = folder / file.name
        if not unpacked.exists():
            packed = _packed(server, registry.base, file, folder, report_all)
            n_bytes = packed.stat().st_size
            _unpack(packed, unpacked, file)
            if packed.parent == folder:
                packed.unlink()
            done += n_bytes
    return folder


def _packed(
    server: FileServer, base: str, file: RegistryFile, folder: Path, report: Report
) -> Path:
    """Return the published file: downloaded to `folder`, or in the folder of a registry."""
    if "://" not in base:
        for path in file.paths:
            if (Path(base) / path).is_file():
                return Path(base) / path
        raise PullError(f"{Path(base) / file.path}: no such file")
    for path in file.paths:
        with suppress(MissingError):
            url, part = f"{base.rstrip('/')}/{path}", folder / f"{file.name}{PART}"
            # A server that has no more has sent all, unless the content is wrong.
            fetch_file(server, url, part, report, _MAX_FILE_BYTES)
            return part
    raise PullError(f"{base.rstrip('/')}/{file.path} answered 404")


def _unpack(packed: Path, unpacked: Path, file: RegistryFile) -> None:
    """Unpack a file, by gzip, zstd or not at all, and verify it; delete it if it is wrong.

    Raises `PullError`.
    """
    unfinished = unpacked.with_name(f"{unpacked.name}.unpacked")
    digest, n_bytes = hashlib.sha256(), 0
    try:
        with unfinished.open("wb") as out:
            for chunk in _chunks(packed):
                n_bytes += len(chunk)
                if n_bytes > _MAX_FILE_BYTES:
                    raise ValueError(f"unpacks to more than {_MAX_FILE_BYTES:,} bytes")
                digest.update(chunk)
                out.write(chunk)
        if file.size not in (None, n_bytes):
            raise ValueError(f"unpacks to {n_bytes:,} bytes, not {file.size:,} as announced")
        if file.digest not in (None, digest.hexdigest()):
            raise ValueError(
                f"has the digest {digest.hexdigest()[:12]}…, not {file.digest:.12}… as announced"
            )
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        unfinished.unlink(missing_ok=True)
        if packed.suffix == PART:
            packed.unlink()
        raise PullError(
            f"{file.name}: {error}; it was deleted: run the command again, or use another "
            "--registry"
        ) from None
    unfinished.rename(unpacked)


def _chunks(packed: Path) -> Iterator[bytes]:
    """Yield the unpacked content. Raises `ValueError`, `EOFError`, `zlib.error`, `PullError`."""
    with packed.open("rb") as plain:
        start = plain.read(4)
    if start == b"\x28\xb5\x2f\xfd":
        yield from _zstd_chunks(packed)
        return
    with gzip.open(packed) if start[:2] == b"\x1f\x8b" else packed.open("rb") as content:
        while chunk := content.read(_CHUNK):
            yield chunk


def _zstd_chunks(packed: Path) -> Iterator[bytes]:
    try:
        zstd = import_module("compression.zstd")  # from Python 3.14 on
    except ImportError:
        try:
            zstd = import_module("backports.zstd")
        except ImportError:
            hint = "pip install backports.zstd, or use another --registry"
            raise PullError(f"{packed.name}: is compressed with zstd: {hint}") from None
    try:
        with zstd.open(packed) as content:
            while chunk := content.read(_CHUNK):
                yield chunk
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from None
