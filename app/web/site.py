"""The page's files, read once, with types, digests and compressed forms."""

from __future__ import annotations

import gzip
import hashlib
import posixpath
import re
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
    ".json": "application/json",
}
COMMENTS = re.compile(rb"^ *(/\*(?:[^*]|\*(?!/))*\*/|//.*)\n", re.MULTILINE)
"""Lines of comments in scripts and style sheets, which are a tenth of them: browsers get none."""

ASSETS = "{{assets}}"
"""Placeholder in documents for the folder of their assets."""
PRELOADS = "{{preloads}}"
"""Placeholder in documents for links to the modules that `ENTRY` imports, which browsers would
otherwise discover one level of imports after the other."""
ENTRY = "main.js"

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
"""For documents: they load only from this server, without inline scripts and styles, and no script
makes markup from strings (`require-trusted-types-for`)."""


@dataclass(frozen=True, slots=True)
class WebFile:
    """One file as served.

    etag        of the content, quoted as in RFC 9110 §8.8.3
    compressed  with gzip
    """

    content: bytes
    compressed: bytes
    media_type: str
    etag: str

    @classmethod
    def of(cls, content: bytes, suffix: str) -> WebFile:
        """Create a file from its content and extension."""
        digest = hashlib.sha256(content).hexdigest()[:16]
        compressed = gzip.compress(content, mtime=0)
        return cls(content, compressed, MEDIA_TYPES[suffix], f'"{digest}"')


@dataclass(frozen=True, slots=True)
class Site:
    """The documents by name without extension, and their assets.

    digest  of all assets, which share one URL prefix: they import one another by relative names
    """

    documents: Mapping[str, WebFile]
    assets: Mapping[str, WebFile]
    digest: str

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Site:
        """Read a folder with its subfolders; names are paths within it. Raises `OSError`."""
        contents = {
            path.relative_to(folder).as_posix(): COMMENTS.sub(b"", path.read_bytes())
            for path in sorted(folder.rglob("*"))
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
                whole = content.replace(PRELOADS.encode(), _preloads(contents).encode())
                located = whole.replace(ASSETS.encode(), prefix.encode())
                documents[path.stem] = WebFile.of(located, path.suffix)
            else:
                assets[name] = WebFile.of(content, path.suffix)
        return cls(documents, assets, digest.hexdigest()[:16])


def _preloads(contents: Mapping[str, bytes]) -> str:
    """Return a link for each module that `ENTRY` imports, directly or not."""
    names = [ENTRY] if ENTRY in contents else []
    for name in names:
        for path in re.findall(rb'^import .* from "(\.[^"]+)";$', contents[name], re.MULTILINE):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path.decode()))
            if target not in names:
                names.append(target)
    return "".join(f'<link rel="modulepreload" href="{ASSETS}{name}">' for name in names[1:])


@cache
def shipped_site() -> Site:
    """The page that comes with the code, read once in a process."""
    return Site.read()
