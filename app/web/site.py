"""The page's files, read once: their types, digests and compressed forms."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "page"

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
ASSETS = "{{assets}}"
"""What a document has in the place of the folder that its assets are in."""

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
"""Of the documents: what they load comes from this server, and nothing inline runs or styles.
No script makes markup of strings either (`require-trusted-types-for`)."""


@dataclass(frozen=True, slots=True)
class WebFile:
    """One file as it is answered.

    etag        of the content, quoted as RFC 9110 §8.8.3 has it
    compressed  by gzip
    """

    content: bytes
    compressed: bytes
    media_type: str
    etag: str

    @classmethod
    def of(cls, content: bytes, suffix: str) -> WebFile:
        """A file of that content and end of its name."""
        digest = hashlib.sha256(content).hexdigest()[:16]
        compressed = gzip.compress(content, mtime=0)
        return cls(content, compressed, MEDIA_TYPES[suffix], f'"{digest}"')


@dataclass(frozen=True, slots=True)
class Site:
    """The documents by their names without the end, and the assets that they load.

    digest  of all assets: they import one another by relative names, so one folder holds them all
    """

    documents: Mapping[str, WebFile]
    assets: Mapping[str, WebFile]
    digest: str

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Site:
        """From a folder without folders in it. Raises `OSError`."""
        contents = {
            path.name: path.read_bytes()
            for path in sorted(folder.iterdir())
            if path.suffix in MEDIA_TYPES
        }
        digest = hashlib.sha256()
        for name, content in contents.items():
            digest.update(b"%d %s %d " % (len(name), name.encode(), len(content)) + content)
        prefix = f"web/{digest.hexdigest()[:16]}/"
        documents: dict[str, WebFile] = {}
        assets: dict[str, WebFile] = {}
        for name, content in contents.items():
            path = Path(name)
            if path.suffix == ".html":
                located = content.replace(ASSETS.encode(), prefix.encode())
                documents[path.stem] = WebFile.of(located, path.suffix)
            else:
                assets[name] = WebFile.of(content, path.suffix)
        return cls(documents, assets, digest.hexdigest()[:16])


@cache
def shipped_site() -> Site:
    """The page that comes with the code, read once in a process."""
    return Site.read()
