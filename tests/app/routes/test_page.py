import gzip
import re

import pytest

from app.web.site import Site
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine

DOCUMENTS = ("/", "/docs", "/redoc")


@pytest.mark.parametrize("path", DOCUMENTS)
async def test_a_document_forbids_what_it_does_not_need(client: Client, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(
        part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("path", DOCUMENTS)
async def test_files_that_a_document_loads_are_immutable(client: Client, path: str) -> None:
    document = (await client.get(path)).text
    addresses = re.findall(r'(?:src|href)="(web/[^"]+)"', document)
    assert addresses
    for address in addresses:
        answer = await client.get("/" + address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_known_files_are_not_sent_again(client: Client) -> None:
    first = await client.get("/")
    again = await client.get("/", headers={"If-None-Match": first.headers["etag"]})
    head = await client.head("/")
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
    assert (head.status_code, head.content) == (200, b"")


async def test_clients_that_cannot_decompress_get_plain_files(client: Client) -> None:
    packed = await client.get("/", headers={"Accept-Encoding": "gzip"})
    plain = await client.get("/", headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content  # httpx decompresses
    assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
    assert len(gzip.compress(plain.content)) < len(plain.content)


@pytest.mark.parametrize(
    "path", ["/web/0123456789abcdef/main.js", "/web/{digest}/other.js", "/web/{digest}/index.html"]
)
async def test_another_version_or_another_file_is_not_found(client: Client, path: str) -> None:
    answer = await client.get(path.format(digest=Site.read().digest))
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


async def test_the_page_needs_no_key(serve: Serve) -> None:
    async with serve(FakeEngine(), api_keys="mine") as client:
        for path in DOCUMENTS:
            assert (await client.get(path)).status_code == 200
        assert (await client.get("/info")).status_code == 401


@pytest.mark.parametrize("path", [*DOCUMENTS, "/web/x/main.js"])
async def test_it_can_be_turned_off(serve: Serve, path: str) -> None:
    async with serve(FakeEngine(), page=False) as client:
        answer = await client.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
