"""The admin port, and what of requests is never logged."""

import gzip
import io
import json
import logging

import httpx
import pytest
import structlog

from app.main import create_admin_app
from app.observe.logs import configure_logs
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:9000", ""])
async def test_no_page_may_reload_the_models(serve: Serve, origin: str) -> None:
    async with serve(FakeEngine(), admin_port=0) as client:
        app = client._transport.app  # type: ignore[attr-defined]
        admin = httpx.AsyncClient(
            transport=httpx.ASGITransport(create_admin_app(app)), base_url="http://admin"
        )
        async with admin:
            before = app.state.lifecycle.started
            refused = await admin.post("/reload", headers={"Origin": origin})
            assert (refused.status_code, app.state.lifecycle.started) == (403, before)
            assert refused.json()["type"] == "urn:problem-type:attend:forbidden"
            assert (await admin.post("/reload")).status_code == 200
            assert app.state.lifecycle.started is not before


async def test_the_name_of_a_file_which_is_its_key_is_not_logged(serve: Serve) -> None:
    stream = io.StringIO()
    configure_logs("debug", stream=stream)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        async with serve(FakeEngine()) as client:
            for method, path in (
                ("GET", "/download_file/SECRET.txt"),
                ("GET", "/download_file/SECRET/more"),
                ("POST", "/download_file/SECRET.txt"),
                ("GET", "/download_file/%53ECRET"),
            ):
                await client.request(method, path)
    finally:
        logging.getLogger().handlers = []
        structlog.reset_defaults()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    logged = [line["path"] for line in lines if "download" in line.get("path", "")]
    assert logged[0] == "/download_file/{name}"
    assert len([line for line in lines if line.get("status") in (404, 405)]) == 4
    assert "SECRET" not in stream.getvalue()


@pytest.mark.parametrize(
    "path", ["/translate", "/detect", "/score", "/explain", "/v2/translate", "/v2/glossaries",
             "/translate_file"],
)  # fmt: skip
async def test_a_compressed_body_is_unsupported(client: Client, path: str) -> None:
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    if path == "/translate_file":
        headers["Content-Type"] = "multipart/form-data; boundary=a"
    body = gzip.compress(b'{"text": "a", "target": "fr"}')
    answer = await client.post(path, content=body, headers=headers)
    assert answer.status_code == 415
    assert "Content-Encoding" in answer.text
    assert answer.headers["Accept-Encoding"] == "identity"
