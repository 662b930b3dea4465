"""The registry of Firefox models, with a fake registry of the real form."""

import gzip
import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.errors import PullError
from app.hub.firefox_files import fetch_model
from app.hub.firefox_registry import PUBLIC_REGISTRY, Registry, read_registry
from app.hub.origin import Origin
from app.hub.remote_settings import FILES, SERVICE
from app.hub.requests import FileServer
from tests.app.hub.fake_hub import Broken

BASE = "https://storage.test/bucket"


def entry(pair: str, architecture: str = "tiny", status: str | None = "Release") -> dict[str, Any]:
    source, _, target = pair.partition("-")
    letters = pair.replace("-", "")
    folder = f"models/{pair}/{architecture}"
    model = f"{pair} {architecture}".encode()
    return {
        "architecture": architecture,
        "releaseStatus": status,
        "sourceLanguage": source,
        "targetLanguage": target,
        "modelStatistics": {"parameters": 1},
        "files": {
            "model": {
                "path": f"{folder}/model.{letters}.intgemm.alphas.bin.gz",
                "uncompressedSize": len(model),
                "uncompressedHash": hashlib.sha256(model).hexdigest(),
            },
            "lexicalShortlist": {"path": f"{folder}/lex.50.50.{letters}.s2t.bin.gz"},
            "vocab": {"path": f"{folder}/vocab.{letters}.spm.gz"},
        },
    }


@dataclass
class FakeRegistry:
    """Serves entries and their files; one download fails after `cut` bytes."""

    entries: list[dict[str, Any]]
    content: dict[str, bytes] = field(default_factory=dict)
    cut: list[int] = field(default_factory=list)
    requests: list[httpx.Request] = field(default_factory=list)

    def listing(self) -> dict[str, Any]:
        models: dict[str, list[dict[str, Any]]] = {}
        for one in self.entries:
            models.setdefault(f"{one['sourceLanguage']}-{one['targetLanguage']}", []).append(one)
        return {"generated": "2026-11-01T00:00:00Z", "baseUrl": BASE, "models": models}

    def file(self, path: str) -> bytes:
        if path in self.content:
            return self.content[path]
        for one in self.entries:
            for part in one["files"].values():
                if part["path"] == path:
                    pair = f"{one['sourceLanguage']}-{one['targetLanguage']}"
                    is_model = "model." in path
                    text = f"{pair} {one['architecture']}" if is_model else path
                    return gzip.compress(text.encode(), mtime=0)
        raise KeyError(path)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if request.url.path.endswith("models.json"):
            return httpx.Response(200, json=self.listing())
        try:
            content = self.file(request.url.path.removeprefix("/bucket/"))
        except KeyError:
            return httpx.Response(404)
        status, headers = 200, {}
        if byte_range := request.headers.get("range"):
            first = int(byte_range.removeprefix("bytes=").removesuffix("-"))
            if first >= len(content):
                return httpx.Response(416)
            headers = {"Content-Range": f"bytes {first}-{len(content) - 1}/{len(content)}"}
            status, content = 206, content[first:]
        if self.cut:
            return httpx.Response(
                status, headers=headers, stream=Broken(content[: self.cut.pop()], breaks=True)
            )
        return httpx.Response(status, headers=headers, stream=Broken(content, breaks=False))

    def server(self) -> FileServer:
        return FileServer(PUBLIC_REGISTRY, httpx.MockTransport(self.answer), lambda _: None)

    def read(self) -> Registry:
        return read_registry(self.server(), PUBLIC_REGISTRY)


def names(registry: Registry, name: str, **how: Any) -> list[str]:
    return [one.name.removeprefix("firefox:") for one in registry.choose(name, **how)]


def test_the_best_released_architecture_is_chosen() -> None:
    registry = FakeRegistry(
        [
            entry("en-fr", "tiny"),
            entry("en-fr", "base-memory", "Release Desktop"),
            entry("en-fr", "base", "Nightly"),
            entry("fr-en", "base", None),
            entry("fr-en", "huge"),
        ]
    ).read()
    assert names(registry, "firefox:en-fr") == ["en-fr/base-memory"]
    assert names(registry, "firefox:EN-fr", architecture="tiny") == ["en-fr/tiny"]
    assert names(registry, "firefox:fr-en") == ["fr-en/base"]
    assert names(registry, "firefox:all") == ["en-fr/base-memory", "fr-en/base"]


@pytest.mark.parametrize(
    ("requested", "chosen"),
    [
        ("en-zh-Hant", "en-zh_hant"), ("EN_zh_TW", "en-zh_hant"), ("en-zh", "en-zh"),
        ("en-zh-CN", "en-zh"), ("zh-TW-en", "zh_hant-en"), ("no-en", "nb-en"), ("iw-en", "he-en"),
        ("en-pt-BR", "en-pt"), ("fra-eng", "fr-en"),
    ],
)  # fmt: skip
def test_a_pair_is_found_by_any_code_of_its_languages(requested: str, chosen: str) -> None:
    pairs = ["en-zh", "en-zh_hant", "zh_hant-en", "nb-en", "he-en", "en-pt", "fr-en"]
    registry = FakeRegistry([entry(pair) for pair in pairs]).read()
    assert names(registry, f"firefox:{requested}") == [f"{chosen}/tiny"]


def test_updates_are_found_by_the_origin() -> None:
    old = entry("en-fr", "tiny")
    old["files"]["model"]["uncompressedHash"] = "0" * 64
    registry = FakeRegistry(
        [entry("en-fr", "tiny"), entry("en-de", "tiny"), entry("en-de", "base", "Nightly"),
         entry("en-es", "tiny"), entry("en-es", "base-memory")]
    ).read()  # fmt: skip

    def update(name: str, revision: str | None = None) -> str | None:
        known = {one.name: one.revision for one in registry.models}
        origin = Origin(repository=name, revision=revision or known.get(name))
        found = registry.update_of(origin)
        return found.name if found else None

    assert update("firefox:en-fr/tiny") is None
    assert update("firefox:en-fr/tiny", "0" * 64) == "firefox:en-fr/tiny"
    assert update("firefox:en-de/tiny") is None  # the better one is not released
    assert update("firefox:en-es/tiny") == "firefox:en-es/base-memory"
    assert update("firefox:en-es/base-memory") is None
    assert update("firefox:xx-yy/tiny", "1") is None
    assert update("Helsinki-NLP/opus-mt-en-fr", "1") is None


def test_a_set_connects_languages_through_english() -> None:
    pairs = ["en-fr", "fr-en", "en-de", "de-en", "sr-en", "en-zh_hant"]
    registry = FakeRegistry([entry(pair) for pair in pairs]).read()
    found = {one.partition("/")[0] for one in names(registry, "firefox:fr,de")}
    assert found == {"en-fr", "fr-en", "en-de", "de-en"}
    assert names(registry, "firefox:sr,zh-Hant") == ["sr-en/tiny", "en-zh_hant/tiny"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("firefox:en-xx", r"no such model; name a pair.*There are: en-fr"),
        ("firefox:fr-en", "no such model"),
        ("firefox:en,xx", "xx: no model of that language; there are: en, fr"),
        ("firefox:", "no such model"),
    ],
)
def test_what_is_not_there_is_named(name: str, reason: str) -> None:
    with pytest.raises(PullError, match=reason):
        FakeRegistry([entry("en-fr")]).read().choose(name)


def test_files_are_fetched_unpacked_and_verified_without_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    fake = FakeRegistry([entry("en-fr")])
    registry = fake.read()
    (model,) = registry.choose("firefox:en-fr")
    fetch_model(fake.server(), registry, model, tmp_path, lambda _: None)
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert found["model.enfr.intgemm.alphas.bin"] == b"en-fr tiny"
    assert set(found) == {
        "model.enfr.intgemm.alphas.bin", "vocab.enfr.spm", "lex.50.50.enfr.s2t.bin",
    }  # fmt: skip
    assert not any("authorization" in request.headers for request in fake.requests)
    n_requests = len(fake.requests)
    fetch_model(fake.server(), registry, model, tmp_path, lambda _: None)
    assert len(fake.requests) == n_requests


def test_an_interrupted_download_is_resumed(tmp_path: Path) -> None:
    fake = FakeRegistry([entry("en-fr")], cut=[10])
    registry = fake.read()
    reported: list[int] = []
    fetch_model(fake.server(), registry, registry.models[0], tmp_path, reported.append)
    assert [r.headers["range"] for r in fake.requests if "range" in r.headers] == ["bytes=10-"]
    assert (tmp_path / "model.enfr.intgemm.alphas.bin").read_bytes() == b"en-fr tiny"
    assert reported == sorted(reported)


def _bomb() -> bytes:
    return gzip.compress(bytes(3_000_000))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress(b"xx-xx tiny"), "has the digest .* as announced"),
        (gzip.compress(b"short"), "unpacks to 5 bytes, not 10 as announced"),
        (gzip.compress(b"en-fr tiny")[:-9], "it was deleted"),
        (b"\x1f\x8bnot gzip at all", "it was deleted"),
        (_bomb(), "unpacks to more than 1,000,000 bytes"),
    ],
    ids=["another", "short", "cut", "no gzip", "too large"],
)
def test_a_file_that_is_wrong_is_deleted(
    tmp_path: Path, content: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.hub.firefox_files._MAX_FILE_BYTES", 1_000_000)
    fake = FakeRegistry([entry("en-fr")])
    registry = fake.read()
    model = registry.models[0]
    fake.content[model.parts.model.path] = content
    with pytest.raises(PullError, match=reason):
        fetch_model(fake.server(), registry, model, tmp_path, lambda _: None)
    assert not [path for path in tmp_path.iterdir() if "model." in path.name]
    del fake.content[model.parts.model.path]
    fetch_model(fake.server(), registry, model, tmp_path, lambda _: None)


def test_a_missing_file_names_its_address(tmp_path: Path) -> None:
    fake = FakeRegistry([entry("en-fr")])
    registry = fake.read()
    fake.entries.clear()
    with pytest.raises(PullError, match=r"storage\.test/bucket/models/en-fr/.* answered 404"):
        fetch_model(fake.server(), registry, registry.models[0], tmp_path, lambda _: None)


def zstd_compressed(content: bytes) -> bytes:
    zstd = pytest.importorskip(
        "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    )
    compressed: bytes = zstd.compress(content)
    return compressed


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress, "": bytes, ".zst": zstd_compressed,
}  # fmt: skip


def repacked(fake: FakeRegistry, end: str) -> dict[str, bytes]:
    """Compress the files of a mirror in another way."""
    paths = [part["path"] for part in fake.entries[0]["files"].values()]
    return {
        path.removesuffix(".gz") + end: PACKINGS[end](gzip.decompress(fake.file(path)))
        for path in paths
    }


@pytest.mark.parametrize("end", PACKINGS)
def test_a_mirror_may_pack_files_as_it_likes(tmp_path: Path, end: str) -> None:
    fake = FakeRegistry([entry("en-fr")])
    registry = fake.read()
    fake.content = repacked(fake, end)
    fake.entries.clear()
    fetch_model(fake.server(), registry, registry.models[0], tmp_path, lambda _: None)
    assert (tmp_path / "model.enfr.intgemm.alphas.bin").read_bytes() == b"en-fr tiny"


def test_a_damaged_zstd_file_is_deleted(tmp_path: Path) -> None:
    fake = FakeRegistry([entry("en-fr")])
    registry = fake.read()
    path = registry.models[0].parts.model.path
    fake.content[path] = zstd_compressed(b"en-fr tiny")[:-5] + b"?????"
    with pytest.raises(PullError, match="it was deleted"):
        fetch_model(fake.server(), registry, registry.models[0], tmp_path, lambda _: None)


def test_without_a_decompressor_zstd_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    fake = FakeRegistry([entry("en-fr")])
    registry = fake.read()
    fake.content[registry.models[0].parts.model.path] = b"\x28\xb5\x2f\xfd..."
    with pytest.raises(PullError, match=r"zstd: pip install backports\.zstd"):
        fetch_model(fake.server(), registry, registry.models[0], tmp_path, lambda _: None)


@pytest.mark.parametrize("packed", [True, False])
def test_a_folder_is_a_registry_without_a_network(tmp_path: Path, packed: bool) -> None:
    fake = FakeRegistry([entry("en-fr")])
    (tmp_path / "mirror" / "db").mkdir(parents=True)
    (tmp_path / "mirror" / "db" / "models.json").write_text(json.dumps(fake.listing()))
    for part in fake.entries[0]["files"].values():
        content = fake.file(part["path"])
        path = tmp_path / "mirror" / part["path"].removesuffix("" if packed else ".gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if packed else gzip.decompress(content))
    registry = read_registry(fake.server(), str(tmp_path / "mirror" / "db"))
    fetch_model(fake.server(), registry, registry.models[0], tmp_path / "out", lambda _: None)
    assert (tmp_path / "out" / "model.enfr.intgemm.alphas.bin").read_bytes() == b"en-fr tiny"
    assert not fake.requests


@pytest.mark.parametrize(
    "change",
    [
        lambda listing: listing.pop("models"),
        lambda listing: listing.pop("baseUrl"),
        lambda listing: listing["models"]["en-fr"][0].update(sourceLanguage="../../etc"),
        lambda listing: listing["models"]["en-fr"][0]["files"].pop("model"),
        lambda listing: listing["models"]["en-fr"][0]["files"]["model"].update(path="../model.x"),
        lambda listing: listing["models"]["en-fr"][0]["files"]["vocab"].update(path="a/passwd"),
        lambda listing: listing.update(data=[{"fileType": "model"}]),
    ],
)
def test_a_list_of_another_form_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    listing = FakeRegistry([entry("en-fr")]).listing()
    change(listing)
    (tmp_path / "models.json").write_text(json.dumps(listing))
    with pytest.raises(PullError, match="not a registry of Firefox's models"):
        read_registry(FakeRegistry([]).server(), str(tmp_path))


def test_no_list_at_all(tmp_path: Path) -> None:
    with pytest.raises(PullError, match=r"expected models\.json, a registry of Firefox's models"):
        read_registry(FakeRegistry([]).server(), str(tmp_path / "missing"))


def records(*versions: tuple[str, str, str]) -> dict[str, Any]:
    """Models for en-fr as Remote Settings lists them: version, architecture and filter."""
    kinds = {
        "model": "model.enfr.intgemm.alphas.bin", "lex": "lex.50.50.enfr.s2t.bin",
        "srcvocab": "srcvocab.enfr.spm", "trgvocab": "trgvocab.enfr.spm",
        "qualityModel": "qualityModel.enfr.bin",
    }  # fmt: skip
    return {
        "data": [
            {
                "id": f"{kind}-{version}", "schema": 1, "last_modified": 2, "name": name,
                "sourceLanguage": "en", "targetLanguage": "fr", "architecture": architecture,
                "version": version, "fileType": kind, "filter_expression": condition,
                "decompressedSize": len(content := f"{version} {kind}".encode()),
                "decompressedHash": hashlib.sha256(content).hexdigest(),
                "attachment": {
                    "filename": f"{name}.zst", "location": f"main/{version}-{kind}.zst",
                    "hash": "0" * 64, "size": 3, "mimetype": "application/zstd",
                },
            }
            for version, architecture, condition in versions
            for kind, name in kinds.items()
        ]
    }  # fmt: skip


def test_the_records_of_remote_settings_are_a_registry_too(tmp_path: Path) -> None:
    listed = records(
        ("3.9", "tiny", ""), ("3.10", "tiny", ""), ("3.10a1", "tiny", ""),
        ("3.1", "base-memory", "env.appinfo.OS != 'Android'"),
        ("3.2", "base", "env.channel == 'default' || env.channel == 'nightly'"),
    )  # fmt: skip
    path = tmp_path / "records.json"
    path.write_text(json.dumps(listed))
    registry = read_registry(FakeRegistry([]).server(), str(path))
    assert names(registry, "firefox:en-fr") == ["en-fr/base-memory"]
    [tiny] = registry.choose("firefox:en-fr", "tiny")
    for file in tiny.files:  # a mirror next to the list, uncompressed
        (tmp_path / "main").mkdir(exist_ok=True)
        kind = file.path.removeprefix("main/3.10-").removesuffix(".zst")
        (tmp_path / file.path.removesuffix(".zst")).write_bytes(f"3.10 {kind}".encode())
    fetch_model(FakeRegistry([]).server(), registry, tiny, tmp_path / "out", lambda _: None)
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == [
        "lex.50.50.enfr.s2t.bin", "model.enfr.intgemm.alphas.bin", "srcvocab.enfr.spm",
        "trgvocab.enfr.spm",
    ]  # fmt: skip


def test_the_service_itself_has_its_files_elsewhere() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=records(("3.0", "tiny", "")))

    address = f"{SERVICE}v1/buckets/main/collections/translations-models-v2/records"
    server = FileServer(address, httpx.MockTransport(answer), lambda _: None)
    assert read_registry(server, address).base == FILES
