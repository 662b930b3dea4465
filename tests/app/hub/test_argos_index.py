"""The index of Argos packages: reading, choosing and fetching."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.errors import PullError
from app.hub.argos_index import (
    ArgosPackage,
    choose_packages,
    fetch_package,
    read_index,
)
from app.hub.requests import FileServer, UnreachableError

URL = "https://argos.example/index"
PACKAGE = b"PK" + bytes(5000)


def entry(pair: str, version: str = "1.9", **changes: Any) -> dict[str, Any]:
    source, _, target = pair.partition("-")
    return {
        "package_version": version, "argos_version": "1.9.0", "from_code": source,
        "from_name": source.upper(), "to_code": target, "to_name": target.upper(),
        "links": [f"https://argos.example/v1/{pair}-{version}.argosmodel"],
    } | changes  # fmt: skip


INDEX = [
    entry("en-fr", "1.0"), entry("en-fr", "1.10"), entry("en-fr", "1.9"), entry("fr-en"),
    entry("en-de"), entry("de-en"), entry("fr-de"), entry("xx-sbd", type="sbd"),
    entry("en-../x"),
]  # fmt: skip
PACKAGES = [ArgosPackage.model_validate(one) for one in INDEX]


def server(answer: Any) -> FileServer:
    return FileServer(URL, httpx.MockTransport(answer), sleep=lambda _: None)


def test_the_index_is_at_an_address_or_in_a_folder(tmp_path: Path) -> None:
    urls: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        urls.append(str(request.url))
        return httpx.Response(200, json=INDEX)

    assert read_index(server(answer), URL) == PACKAGES
    assert urls == [f"{URL}/index.json"]
    (tmp_path / "index.json").write_text(json.dumps(INDEX))
    assert read_index(server(answer), str(tmp_path)) == PACKAGES


@pytest.mark.parametrize("content", ["", "{}", "[1]", '[{"links": "x"}]', "[" * 100_000])
def test_an_invalid_index_is_refused_in_one_line(content: str) -> None:
    with pytest.raises(PullError, match="not an index of Argos's packages") as caught:
        read_index(server(lambda _: httpx.Response(200, text=content)), URL)
    assert "\n" not in str(caught.value)


def test_a_missing_index_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PullError, match=r"expected index\.json, an index of Argos's packages"):
        read_index(server(lambda _: httpx.Response(200)), str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("argos:en-fr", ["en-fr"]),
        ("argos:fr", ["en-fr", "fr-en"]),
        ("argos:fr,de", ["en-fr", "fr-en", "en-de", "de-en"]),
        ("argos:all", ["en-fr", "fr-en", "en-de", "de-en", "fr-de"]),
    ],
)
def test_names_choose_the_newest_package_of_each_pair(name: str, pairs: list[str]) -> None:
    chosen = choose_packages(PACKAGES, name)
    assert [f"{one.from_code}-{one.to_code}" for one in chosen] == pairs
    assert [one.package_version for one in chosen if one.name == "argos-en-fr"] == ["1.10"]


def test_an_unknown_pair_names_those_that_exist() -> None:
    with pytest.raises(PullError, match="there are: de-en, en-de, en-fr, fr-de, fr-en"):
        choose_packages(PACKAGES, "argos:en-ja")


def test_a_package_is_fetched_from_the_first_address_that_has_it(tmp_path: Path) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        status = 200 if request.url.host == "b" else 404
        return httpx.Response(status, stream=httpx.ByteStream(PACKAGE))

    links = ["ipfs://x", "https://a/x.argosmodel", "https://b/x.argosmodel"]
    package = PACKAGES[0].model_copy(update={"links": links})
    path = fetch_package(server(answer), package, tmp_path, lambda _: None)
    assert path.read_bytes() == PACKAGE
    assert path.name == "argos-en-fr-1.0.argosmodel"


def test_an_interrupted_download_is_resumed(tmp_path: Path) -> None:
    ranges: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        ranges.append(request.headers.get("range"))
        if len(ranges) == 1:
            return httpx.Response(503)
        start = 100 if ranges[-1] else 0
        headers = {"content-range": f"bytes {start}-5001/5002"} if start else {}
        rest = httpx.ByteStream(PACKAGE[start:])
        return httpx.Response(206 if start else 200, stream=rest, headers=headers)

    part = tmp_path / "argos-en-fr-1.0.argosmodel.part"
    part.write_bytes(PACKAGE[:100])
    path = fetch_package(server(answer), PACKAGES[0], tmp_path, lambda _: None)
    assert path.read_bytes() == PACKAGE
    assert ranges == ["bytes=100-", "bytes=100-"]


def test_a_package_that_no_address_has_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PullError, match="none of its addresses has it"):
        fetch_package(server(lambda _: httpx.Response(404)), PACKAGES[0], tmp_path, lambda _: None)
    with pytest.raises(UnreachableError):
        fetch_package(server(lambda _: httpx.Response(503)), PACKAGES[0], tmp_path, lambda _: None)
