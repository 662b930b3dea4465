import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.languages.detection import PROCESS
from app.loading import load_runtime
from app.main import create_app
from app.observe.metrics import Metrics
from app.runtime import Runtime
from app.settings import Settings
from model.checkpoint.reader import load_checkpoint
from model.engine.protocol import Engine
from tests.app.fake_engine import FakeEngine
from tests.app.fake_runtime import build_runtime

Client = httpx.AsyncClient
Serve = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture(scope="session", autouse=True)
def _end_of_language_detection() -> Iterator[None]:
    yield
    PROCESS.close()


@pytest.fixture(scope="session")
def serve(tiny_checkpoint: Path, kernels: None) -> Serve:
    """A client of a started application; `engines` replace those of its models."""

    @asynccontextmanager
    async def run(*engines: Engine, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
        def load(settings: Settings, metrics: Metrics) -> Runtime:
            if not engines:
                return load_runtime(settings, metrics)
            checkpoints = [load_checkpoint(folder) for folder in settings.checkpoint]
            return build_runtime(checkpoints, engines, settings, metrics)

        app = create_app(Settings.parse(**{"checkpoint": tiny_checkpoint} | settings), load)
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://attend") as client,
        ):
            while (await client.get("/startupz")).status_code != httpx.codes.OK:
                await asyncio.sleep(0.01)
            yield client

    return run


def entered(
    runner: asyncio.Runner, serving: AbstractAsyncContextManager[Client]
) -> Iterator[Client]:
    """Make a fixture of an application that a module's tests share without changing it."""
    yield runner.run(serving.__aenter__())
    runner.run(serving.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def client(serve: Serve, runner: asyncio.Runner) -> Iterator[Client]:
    """A client of an application with a fake engine, for tests that are coroutines."""
    yield from entered(runner, serve(FakeEngine()))


@pytest.fixture(scope="module")
def served(serve: Serve, runner: asyncio.Runner) -> Iterator[Client]:
    """A client of an application with the random model, for tests that are coroutines."""
    yield from entered(runner, serve())
