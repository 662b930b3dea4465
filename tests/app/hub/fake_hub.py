"""A fake hub with the faults of real ones."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

COMMIT = "c0ffee" + "0" * 34


class Broken(httpx.SyncByteStream):
    """A body that ends or fails after a number of bytes."""

    def __init__(self, content: bytes, *, breaks: bool) -> None:
        self._content = content
        self._breaks = breaks

    def __iter__(self) -> Iterator[bytes]:
        yield self._content
        if self._breaks:
            raise httpx.ReadError("connection reset")


@dataclass
class FakeHub:
    """The hub with one repository.

    lfs        files that are in Git LFS
    faults     called before each answer; a returned response replaces it
    cut_after  bytes after which a download fails, once for each entry
    cut        the file that fails; empty: any
    served     content that replaces the announced content
    """

    files: dict[str, bytes]
    lfs: set[str] = field(default_factory=set)
    repository: str = "Helsinki-NLP/opus-mt-en-fr"
    faults: Callable[[httpx.Request], httpx.Response | None] = lambda _: None
    cut_after: list[int] = field(default_factory=list)
    cut: str = ""
    breaks: bool = True
    ranges: bool = True
    served: dict[str, bytes] = field(default_factory=dict)
    requests: list[httpx.Request] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.answer)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if fault := self.faults(request):
            return fault
        path = request.url.path
        if path.startswith(f"/api/models/{self.repository}/revision/"):
            if path.rpartition("/")[2] not in ("main", COMMIT):
                return httpx.Response(404, headers={"X-Error-Code": "RevisionNotFound"})
            return httpx.Response(200, json=self.info())
        prefix = f"/{self.repository}/resolve/{COMMIT}/"
        if not path.startswith(prefix):
            return httpx.Response(404, headers={"X-Error-Code": "RepoNotFound"})
        return self._file(path.removeprefix(prefix), request)

    def _file(self, name: str, request: httpx.Request) -> httpx.Response:
        content = self.served.get(name, self.files[name])
        status, headers = 200, {}
        if self.ranges and (byte_range := request.headers.get("range")):
            first = int(byte_range.removeprefix("bytes=").removesuffix("-"))
            if first >= len(content):
                return httpx.Response(416)
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
            status, content = 206, content[first:]
        if self.cut in {"", name} and self.cut_after and len(content) > self.cut_after[0]:
            part = content[: self.cut_after.pop(0)]
            return httpx.Response(status, headers=headers, stream=Broken(part, breaks=self.breaks))
        return httpx.Response(status, headers=headers, stream=Broken(content, breaks=False))

    def info(self) -> dict[str, Any]:
        siblings: list[dict[str, Any]] = []
        for name, content in self.files.items():
            git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            one: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": git}
            if name in self.lfs:
                sha256 = hashlib.sha256(content).hexdigest()
                one["lfs"] = {"sha256": sha256, "size": len(content), "pointerSize": 134}
            siblings.append(one)
        return {
            "sha": COMMIT, "siblings": siblings, "cardData": {"license": "cc-by-4.0"}, "tags": [],
        }  # fmt: skip
