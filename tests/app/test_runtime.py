"""Start, stop, and reloads during requests."""

import asyncio
import gc
import threading
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from app import loading
from app.errors import (
    DrainingError,
    GoldenSentenceError,
    ReloadFailedError,
    ReloadInProgressError,
    StartingError,
)
from app.main import create_admin_app, create_app
from app.observe.metrics import Metrics
from app.runtime import Lifecycle, Runtime
from app.settings import Settings
from model.checkpoint.golden import GoldenSentence
from model.checkpoint.reader import load_checkpoint
from model.engine.compilation import COMPILATION
from model.engine.protocol import EngineInfo
from model.errors import CheckpointError
from tests.app.fake_engine import FakeEngine
from tests.app.fake_runtime import build_runtime
from tests.app.waiting import until

BODY = {"text": "cat", "target": "fr"}


@dataclass
class Models:
    """Loads one engine after the other; `golden` is recorded with the checkpoint."""

    folder: Path
    engines: list[FakeEngine]
    golden: list[GoldenSentence] = field(default_factory=list)
    failure: Exception | None = None
    may_load: threading.Event = field(default_factory=threading.Event)
    n_settled: int = 0

    def load(self, settings: Settings, metrics: Metrics) -> Runtime:
        assert self.may_load.wait(60)
        if self.failure:
            raise self.failure
        checkpoint = replace(load_checkpoint(self.folder), golden=tuple(self.golden))
        return build_runtime([checkpoint], [self.engines.pop(0)], settings, metrics)

    def settled(self) -> None:
        self.n_settled += 1

    @asynccontextmanager
    async def serving(self, **values: object) -> AsyncIterator[tuple[FastAPI, httpx.AsyncClient]]:
        self.may_load.set()
        settings = Settings.parse(checkpoint=self.folder, **values)
        app = create_app(settings, self.load, when_ready=self.settled)
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://attend") as client,
        ):
            await until(lambda: self.n_settled == 1)
            yield app, client


@pytest.fixture
def models(tiny_checkpoint: Path) -> Models:
    return Models(tiny_checkpoint, [FakeEngine(), FakeEngine()])


async def test_requests_are_taken_while_draining_and_not_when_closed(models: Models) -> None:
    async with models.serving() as (app, client):
        lifecycle: Lifecycle = app.state.lifecycle
        lifecycle.drain()
        assert (await client.get("/readyz")).status_code == 503
        assert (await client.get("/livez")).status_code == 200
        assert (await client.post("/translate", json=BODY)).status_code == 200
        lifecycle.close()
        refused = await client.post("/translate", json=BODY)
        assert refused.json()["type"] == "urn:problem-type:attend:draining"
        with pytest.raises(DrainingError):
            await lifecycle.reload()


async def test_a_reload_lets_the_old_models_finish_and_then_go(models: Models) -> None:
    old, new = models.engines
    old.gate = threading.Semaphore(1)  # a step, for the warm-up
    gone = weakref.ref(old)
    async with models.serving() as (app, client):
        lifecycle: Lifecycle = app.state.lifecycle
        before = [lifecycle.started]
        request = asyncio.create_task(client.post("/translate", json=BODY))
        await until(lambda: before[0].gauges().batch_size == 1)
        assert await lifecycle.reload() is lifecycle.started is not before[0]
        answer = await client.post("/translate", json=BODY)
        assert answer.status_code == 200
        assert sum(map(len, new.admitted)) == 2  # the warm-up, and this request
        assert not request.done()
        assert models.n_settled == 1
        old.release(1000)
        assert (await request).json()["translations"] == answer.json()["translations"]
        await until(lambda: models.n_settled == 2)
        assert not before[0].alive
        before.clear()
        del old
        gc.collect()
        assert gone() is None


async def test_a_stop_also_stops_the_models_that_a_reload_replaced(models: Models) -> None:
    old = models.engines[0]
    old.gate = threading.Semaphore(1)  # a step, for the warm-up
    async with models.serving() as (app, client):
        lifecycle: Lifecycle = app.state.lifecycle
        replaced = lifecycle.started
        request = asyncio.create_task(client.post("/translate", json=BODY))
        await until(lambda: replaced.gauges().batch_size == 1)
        release = replaced.hold()
        await lifecycle.reload()
        stopping = asyncio.create_task(lifecycle.stop())
        await until(lambda: not replaced.alive)
        assert not stopping.done()  # the old engine still has the sentence
        old.release(1000)
        assert (await request).status_code == 200
        await stopping
        release()


async def test_an_application_that_was_stopped_holds_no_models(models: Models) -> None:
    gone = weakref.ref(models.engines[0])
    gc.disable()
    try:
        async with models.serving() as (app, client):
            assert (await client.post("/translate", json=BODY)).status_code == 200
        await until(lambda: gone() is None)  # when the waiting thread has ended
        with pytest.raises(DrainingError):
            _ = app.state.lifecycle.started
    finally:
        gc.enable()


async def test_an_unfinished_request_is_served_by_the_new_models(models: Models) -> None:
    started, rest = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b'{"text": "cat",'
        started.set()
        await rest.wait()
        yield b'"target": "fr"}'

    async with models.serving() as (app, client):
        lifecycle: Lifecycle = app.state.lifecycle
        before = lifecycle.started
        # httpx's ASGI transport sends a body in pieces, on request.
        request = asyncio.create_task(client.post("/translate", content=slowly()))
        await started.wait()
        await lifecycle.reload()
        await until(lambda: not before.alive)
        rest.set()
        assert (await request).status_code == 200


async def test_a_failed_load_leaves_everything_unchanged(models: Models) -> None:
    async with models.serving() as (app, client):
        lifecycle: Lifecycle = app.state.lifecycle
        before = lifecycle.started
        for failure, reason in (
            (CheckpointError("no such folder"), "no such folder"),
            (ZeroDivisionError("secret"), "see the log"),
        ):
            models.failure = failure
            with pytest.raises(ReloadFailedError) as failed:
                await lifecycle.reload()
            assert str(failed.value) == reason
        models.failure = None
        wrong = GoldenSentence(source="en", target="fr", text="The cat.", translation="Le chien.")
        models.golden.append(wrong)
        spare = models.engines[0]
        with pytest.raises(ReloadFailedError, match=r"'tiny' differs from .* 'Le chien\.'"):
            await lifecycle.reload()
        assert spare.admitted  # the reload was attempted
        assert lifecycle.started is before
        assert (await client.post("/translate", json=BODY)).status_code == 200
        metrics = (await client.get("/metrics")).text
    assert 'attend_reloads_total{outcome="failed"} 3.0' in metrics
    assert models.n_settled == 1


async def test_one_reload_at_a_time_and_none_before_the_start(models: Models) -> None:
    lifecycle = Lifecycle(lambda: models.load(Settings(), Metrics()), Metrics())
    with pytest.raises(StartingError):
        await lifecycle.reload()
    models.may_load.set()
    await lifecycle.start()
    models.may_load.clear()
    first = asyncio.create_task(lifecycle.reload())
    await asyncio.sleep(0)
    with pytest.raises(ReloadInProgressError):
        await lifecycle.reload()
    models.may_load.set()
    await first
    await lifecycle.stop()


async def test_while_kernels_are_compiled_errors_have_the_remaining_time(
    monkeypatch: pytest.MonkeyPatch, models: Models
) -> None:
    lifecycle = Lifecycle(lambda: models.load(Settings(), Metrics()), Metrics())
    now = [0.0]
    monkeypatch.setattr("model.engine.compilation.time.monotonic", lambda: now[0])
    COMPILATION.start()
    try:
        now[0] = 10.0
        with pytest.raises(StartingError) as soon:
            _ = lifecycle.started
        COMPILATION.fraction = 0.25
        with pytest.raises(StartingError) as later:
            _ = lifecycle.started
    finally:
        COMPILATION.end()
    assert (soon.value.retry_after, later.value.retry_after) == (163, 38)
    with pytest.raises(StartingError) as after:
        _ = lifecycle.started
    assert after.value.retry_after == 1


async def test_golden_sentences_decide_whether_the_server_starts(models: Models) -> None:
    right = GoldenSentence(source="en", target="fr", text="The cat.", translation="")
    models.golden.append(right)
    models.may_load.set()
    lifecycle = Lifecycle(lambda: models.load(Settings(), Metrics()), Metrics())
    with pytest.raises(GoldenSentenceError, match=r"'The cat\.' became '(.+)', not ''") as refused:
        await lifecycle.start()
    with pytest.raises(StartingError):
        _ = lifecycle.ready
    [became] = str(refused.value).split(" became '")[1:]
    models.golden[:] = [right.model_copy(update={"translation": became.partition("', not")[0]})]
    await lifecycle.start()
    assert lifecycle.ready
    await lifecycle.stop()


async def test_in_half_precision_a_quarter_of_them_may_differ(models: Models) -> None:
    wrong = GoldenSentence(source="en", target="fr", text="The cat.", translation="")
    models.engines = [
        FakeEngine(info=EngineInfo("torch", "cuda:0", "bfloat16", 1)) for _ in range(3)
    ]
    models.golden.append(wrong)
    models.may_load.set()
    lifecycle = Lifecycle(lambda: models.load(Settings(), Metrics()), Metrics())
    with pytest.raises(GoldenSentenceError) as refused:
        await lifecycle.start()
    became = str(refused.value).split(" became '")[1].partition("', not")[0]
    right = wrong.model_copy(update={"translation": became})
    models.golden[:] = [right, wrong, right, right, wrong, right, right]
    with pytest.raises(GoldenSentenceError):
        await lifecycle.start()
    models.golden.append(right)
    await lifecycle.start()
    await lifecycle.stop()


async def test_the_admin_port_reloads_and_has_the_metrics_instead(models: Models) -> None:
    models.may_load.set()
    settings = Settings.parse(checkpoint=models.folder, admin_port=0)
    app = create_app(settings, models.load, when_ready=models.settled)
    beside = create_admin_app(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://attend") as client,
        httpx.AsyncClient(transport=httpx.ASGITransport(beside), base_url="http://admin") as admin,
    ):
        await until(lambda: models.n_settled == 1)
        for path in ("/metrics", "/status"):
            assert (await client.get(path)).status_code == 404
        assert (await client.post("/reload")).status_code == 404
        assert (await admin.post("/translate", json=BODY)).status_code == 404
        assert (await admin.get("/readyz")).status_code == 200
        reloaded = await admin.post("/reload")
        assert reloaded.json()["model"] == "tiny"
        models.failure = CheckpointError("no such folder")
        failed = await admin.post("/reload")
        assert (failed.status_code, failed.json()["detail"]) == (500, "no such folder")
        models.may_load.clear()
        models.failure = None
        models.engines.append(FakeEngine())
        first = asyncio.create_task(admin.post("/reload"))
        await until(lambda: app.state.lifecycle._loading)
        conflict = await admin.post("/reload")
        assert conflict.json()["type"] == "urn:problem-type:attend:reload-in-progress"
        assert conflict.status_code == 409
        models.may_load.set()
        assert (await first).status_code == 200
        assert 'attend_reloads_total{outcome="done"} 2.0' in (await admin.get("/metrics")).text


async def test_a_wedged_engine_is_not_alive_and_does_not_delay_the_end(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "ENGINE_TIMEOUT", 0.1)
    engine = models.engines[0]
    engine.gate = threading.Semaphore(1)
    models.may_load.set()
    settings = Settings.parse(checkpoint=models.folder, request_timeout=1)
    app = create_app(settings, models.load, when_ready=models.settled)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://attend") as client,
    ):
        await until(lambda: models.n_settled == 1)
        await asyncio.sleep(0.2)  # an idle engine is not stuck
        assert (await client.get("/livez")).status_code == 200
        assert (await client.post("/translate", json=BODY)).status_code == 504
        assert (await client.get("/livez")).status_code == 503
        assert (await client.get("/readyz")).status_code == 503
    engine.release(1000)
