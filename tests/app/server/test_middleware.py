from typing import Any

import httpx
import pytest
from starlette.responses import HTMLResponse

from app.main import create_admin_app
from app.server.middleware import ALWAYS, DATA_POLICY, SecurityHeaders
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine

ORIGIN = "https://page.example"


@pytest.mark.parametrize("path", ["/livez", "/info", "/translate", "/nothing", "/metrics"])
async def test_every_answer_has_them(client: Client, path: str) -> None:
    response = await client.get(path)
    assert {name: response.headers[name] for name in ALWAYS} == ALWAYS
    assert response.headers["Content-Security-Policy"] == DATA_POLICY


async def test_a_page_may_have_its_own() -> None:
    page = SecurityHeaders(HTMLResponse("<p>", headers={"Cache-Control": "max-age=60"}))
    transport = httpx.ASGITransport(page)
    async with httpx.AsyncClient(transport=transport, base_url="http://attend") as client:
        response = await client.get("/")
    assert response.headers["Cache-Control"] == "max-age=60"
    assert response.headers["X-Frame-Options"] == "DENY"
    assert "Content-Security-Policy" not in response.headers


async def preflight(client: httpx.AsyncClient, path: str = "/translate") -> httpx.Response:
    headers = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
    return await client.options(path, headers=headers)


async def test_other_origins_may_use_only_libretranslates_paths_by_default(client: Client) -> None:
    info = await client.get("/info", headers={"Origin": ORIGIN})
    for response in (info, *[await preflight(client, path) for path in ("/score", "/v2/usage")]):
        assert not [name for name in response.headers if name.startswith("access-control")]
    allowed = await preflight(client)
    assert allowed.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in allowed.headers


async def test_a_refused_preflight_has_the_form_of_other_errors(serve: Serve) -> None:
    headers = {
        "Origin": ORIGIN,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "X-Other",
        "X-Request-Id": "mine",
    }
    async with serve(FakeEngine(), cors_origins=ORIGIN) as client:
        for path in ("/translate", "/info", "/v2/translate", "/translate_file", "/v1/models"):
            refused = await client.options(path, headers=headers)
            assert refused.status_code == httpx.codes.BAD_REQUEST
            assert "json" in refused.headers["Content-Type"]
            assert refused.headers["Access-Control-Allow-Origin"] == ORIGIN
            assert "Disallowed CORS headers" in refused.text
            if path == "/info":
                assert refused.json()["request_id"] == "mine"
            elif path == "/v2/translate":
                assert refused.json() == {"message": "Disallowed CORS headers"}


async def test_pages_may_use_clients_of_other_dialects(serve: Serve) -> None:
    platform = "arch,lang,os,package-version,retry-count,runtime,runtime-version,timeout"
    openai = ["user-agent", *(f"x-stainless-{name}" for name in platform.split(","))]
    headers = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
    async with serve(FakeEngine(), cors_origins=ORIGIN) as client:
        for path, sent in {
            "/v1/chat/completions": ["authorization", "content-type", *openai],
            "/language/translate/v2": ["x-goog-api-key"],
        }.items():
            requested = {"Access-Control-Request-Headers": ",".join(sent)}
            allowed = await client.options(path, headers=headers | requested)
            assert allowed.status_code == httpx.codes.OK, allowed.text


async def test_it_can_be_turned_off(serve: Serve) -> None:
    async with serve(FakeEngine(), cors_origins="none") as client:
        for response in (
            await preflight(client), await client.get("/languages", headers={"Origin": ORIGIN}),
        ):  # fmt: skip
            assert "Access-Control-Allow-Origin" not in response.headers


async def test_the_admin_port_has_no_cors(client: Client) -> None:
    transport: Any = client._transport
    admin = httpx.ASGITransport(create_admin_app(transport.app))
    async with httpx.AsyncClient(transport=admin, base_url="http://attend") as beside:
        assert "Access-Control-Allow-Origin" not in (await preflight(beside)).headers


@pytest.mark.parametrize("origins", ["https://other.example, " + ORIGIN, "*"])
async def test_configured_origins_may_send_requests_and_read_errors(
    serve: Serve, origins: str
) -> None:
    async with serve(FakeEngine(), cors_origins=origins) as client:
        allowed = await preflight(client)
        failed = await client.post("/translate", json={}, headers={"Origin": ORIGIN})
        stranger = await client.get("/info", headers={"Origin": "https://evil.example"})
    assert allowed.status_code == httpx.codes.OK
    assert "POST" in allowed.headers["Access-Control-Allow-Methods"]
    assert failed.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    for response in (allowed, failed):
        assert response.headers["Access-Control-Allow-Origin"] in (ORIGIN, "*")
    assert "Retry-After" in failed.headers["Access-Control-Expose-Headers"]
    assert ("Access-Control-Allow-Origin" in stranger.headers) == (origins == "*")
