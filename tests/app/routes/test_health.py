import asyncio
import threading

import httpx
import pytest

from app.loading import load_runtime
from app.main import create_app
from app.observe.metrics import Metrics
from app.runtime import Runtime
from app.settings import Settings
from model.errors import CheckpointError
from tests.app.asking import scheduler
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine

PROBES = ["/livez", "/startupz", "/readyz"]


async def test_alive_while_a_model_loads_but_not_started_or_ready(tiny_checkpoint: object) -> None:
    loading = threading.Event()

    def load(settings: Settings, metrics: Metrics) -> Runtime:
        loading.wait(60)
        return load_runtime(settings, metrics)

    app = create_app(Settings.parse(checkpoint=tiny_checkpoint), load)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://attend") as client,
    ):
        before = {path: (await client.get(path)).status_code for path in PROBES}
        refused = [
            await client.post("/translate", json={"text": "cat", "target": "fr"}),
            await client.get("/info"),
            await client.get("/languages"),
        ]
        loading.set()
        while (await client.get("/readyz")).status_code != httpx.codes.OK:
            await asyncio.sleep(0.01)
        after = {path: (await client.get(path)).status_code for path in PROBES}
    stopped = {path: (await client_get(app, path)).status_code for path in PROBES}
    assert before == {"/livez": 200, "/startupz": 503, "/readyz": 503}
    assert after == dict.fromkeys(PROBES, 200)
    assert stopped == {"/livez": 200, "/startupz": 503, "/readyz": 503}
    for response in refused:
        assert response.status_code == 503
        assert response.json()["type"] == "urn:problem-type:attend:starting"
        assert response.headers["Retry-After"] == "1"


async def client_get(app: object, path: str) -> httpx.Response:
    transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://attend") as client:
        return await client.get(path)


async def test_an_unloadable_model_is_reported_once_never_ready(tiny_checkpoint: object) -> None:
    def load(settings: Settings, metrics: Metrics) -> Runtime:
        raise CheckpointError("no such folder")

    reported: list[BaseException] = []
    app = create_app(Settings.parse(checkpoint=tiny_checkpoint), load, reported.append, pytest.fail)
    async with app.router.lifespan_context(app):
        while not reported:
            await asyncio.sleep(0.01)
        assert (await client_get(app, "/readyz")).status_code == 503
    assert [str(error) for error in reported] == ["no such folder"]


async def test_stopping_while_the_model_loads(tiny_checkpoint: object) -> None:
    loading = threading.Event()
    reported: list[BaseException] = []

    def load(settings: Settings, metrics: Metrics) -> Runtime:
        loading.wait(60)
        return load_runtime(settings, metrics)

    app = create_app(Settings.parse(checkpoint=tiny_checkpoint), load, reported.append)
    async with app.router.lifespan_context(app):
        await asyncio.sleep(0)
    loading.set()
    assert reported == []


async def test_an_engine_thread_that_ended_fails_every_probe_but_startup(serve: Serve) -> None:
    async with serve(FakeEngine()) as client:
        await scheduler(client).stop()
        codes = {path: (await client.get(path)).status_code for path in PROBES}
        response = await client.post("/translate", json={"text": "cat", "target": "fr"})
    assert codes == {"/livez": 503, "/startupz": 200, "/readyz": 503}
    assert response.json()["type"] == "urn:problem-type:attend:engine-down"


@pytest.mark.parametrize("path", [*PROBES, "/info", "/languages"])
async def test_head_and_options(client: Client, path: str) -> None:
    head, get = await client.head(path), await client.get(path)
    options = await client.options(path)
    assert head.status_code == get.status_code == 200
    assert head.headers["Content-Type"] == get.headers["Content-Type"]
    assert options.status_code == 204
    older = {"POST"} if path == "/languages" else set()  # for older LibreTranslate clients
    assert set(options.headers["Allow"].split(", ")) == {"GET", "HEAD"} | older


async def test_the_status_is_the_load_in_two_numbers(serve: Serve) -> None:
    async with serve(FakeEngine()) as client:
        before = (await client.get("/status")).json()
        await client.post("/translate", json={"text": "cat", "source": "en", "target": "fr"})
        after = (await client.get("/status")).json()
    assert before["requests"] == after["requests"] == 0
    assert before["tokens_generated"] < after["tokens_generated"]
