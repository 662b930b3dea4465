import asyncio
import gzip
import io
import json
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from pydantic_core import to_json

from app.main import create_admin_app
from app.observe.logs import configure_logs
from app.observe.metrics import Metrics
from app.routes.handling import responses
from model.checkpoint.reader import load_checkpoint
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine

CACHED = ("/openapi.json", "/spec", "/languages")


async def test_info_describes_the_served_checkpoint(served: Client, tiny_checkpoint: Path) -> None:
    info = (await served.get("/info")).json()
    checkpoint = load_checkpoint(tiny_checkpoint)
    assert info["model"] == "tiny"
    assert info["directions"] == [["en", "fr"], ["fr", "en"]]
    assert info["config"] == checkpoint.config.transformer.model_dump()
    assert info["parameters"] == checkpoint.n_parameters
    assert info["digest"] == checkpoint.digest
    assert (info["device"], info["precision"]) == ("cpu", "int8")


async def test_openapi_names_only_what_it_defines_and_its_examples_work(served: Client) -> None:
    def references(node: object) -> set[str]:
        if isinstance(node, dict):
            own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
            return own.union(*map(references, node.values()))
        return set().union(*map(references, node)) if isinstance(node, list) else set()

    document = (await served.get("/openapi.json")).json()
    body = document["paths"]["/translate"]["post"]["requestBody"]["content"]
    examples = body["application/json"]["examples"]
    for example in examples.values():
        response = await served.post("/translate", json=example["value"])
        assert response.status_code == httpx.codes.OK
    schemas = document["components"]["schemas"]
    assert references(document) <= {f"#/components/schemas/{name}" for name in schemas}
    assert {"TranslateRequest", "AttentionRequest", "TranslateAnswer", "Problem"} <= set(schemas)
    assert "HTTPValidationError" not in schemas


async def test_answers_that_need_no_key_are_made_once(
    served: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [(await served.get(path)).content for path in CACHED]
    for maker in ("app.routes.page._described", "app.wire.dialects.libretranslate.SPEC"):
        monkeypatch.setattr(maker, None)
    monkeypatch.setattr(responses, "to_json", None)
    assert [(await served.get(path)).content for path in CACHED] == before
    tag = (await served.get("/openapi.json")).headers["etag"]
    unchanged = await served.get("/openapi.json", headers={"If-None-Match": tag})
    assert unchanged.status_code == httpx.codes.NOT_MODIFIED


async def test_metrics_are_collected_once_for_concurrent_requests(
    served: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_times = 0
    exposition = Metrics.exposition

    def count(self: Metrics, accept: str = "") -> tuple[bytes, str]:
        nonlocal n_times
        n_times += 1
        return exposition(self, accept)

    monkeypatch.setattr(Metrics, "exposition", count)
    answers = await asyncio.gather(*(served.get("/metrics") for _ in range(20)))
    assert {answer.status_code for answer in answers} == {httpx.codes.OK}
    assert n_times <= 10


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
    as_libretranslate = path in ("/translate", "/detect", "/translate_file")
    assert answer.status_code == (400 if as_libretranslate else 415)
    assert "Content-Encoding" in answer.text
    assert answer.headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    "path",
    [
        "/languages", "/v2/languages", "/v2/languages?type=target", "/v1/models",
        "/v2/glossary-language-pairs", "/language/translate/v2/languages",
        "/language/translate/v2/languages?target=en",
    ],
)  # fmt: skip
async def test_a_list_of_languages_is_written_once(
    client: Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []

    def note(value: object, **options: Any) -> bytes:
        written.append(value)
        return to_json(value, **options)

    monkeypatch.setattr(responses, "to_json", note)
    first, second = [await client.get(path) for _ in range(2)]
    assert first.status_code == 200
    assert first.headers["Content-Type"] == "application/json"
    assert "null" not in first.text
    assert (second.content, len(written)) == (first.content, 1)


async def test_info_is_written_again_when_a_model_changes(client: Client) -> None:
    runtime = client._transport.app.state.lifecycle.ready  # type: ignore[attr-defined]
    first, second = [await client.get("/info") for _ in range(2)]
    assert first.content == second.content
    assert first.json() == json.loads(runtime.info.model_dump_json())
    assert runtime.info_json is runtime.info_json
    runtime.known[0].slot.pinned = not first.json()["pinned"]
    assert (await client.get("/info")).json()["pinned"] != first.json()["pinned"]
