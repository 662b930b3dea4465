"""Failures of the server are answered and logged without any text, and it continues."""

import asyncio
import io
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import structlog
from numpy.typing import NDArray

from app.main import create_app
from app.observe.logs import configure_logs
from app.settings import Settings
from model.engine.explanations import AttentionKind
from model.engine.protocol import Finished
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine

SECRET = "xyxxy"


Logged = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def logged() -> Iterator[Logged]:
    """Return the lines that `app` logged since the last call, without those of the client."""
    stream = io.StringIO()
    configure_logs("info", stream=stream)
    [handler] = logging.getLogger().handlers
    handler.addFilter(lambda record: record.name != "httpx")

    def read() -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in stream.getvalue().splitlines()]
        stream.truncate(0)
        stream.seek(0)
        return lines

    yield read
    logging.getLogger().removeHandler(handler)
    logging.getLogger().setLevel(logging.WARNING)
    structlog.reset_defaults()


class BrokenEngine(FakeEngine):
    """Fails if `broken` is true, with exceptions that quote the text."""

    broken = False

    def step(self) -> list[Finished]:
        finished = super().step()
        if self.broken and finished:
            raise RuntimeError(SECRET)
        return finished

    def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> NDArray[np.float32]:
        return np.zeros((0, 0, 0, 0), dtype=np.float32)  # no layer to select


async def test_a_broken_engine_is_reported_and_used_again(serve: Serve, logged: Logged) -> None:
    engine = BrokenEngine()
    async with serve(engine) as client:
        engine.broken = True
        broken = await client.post("/translate", json={"text": SECRET, "target": "fr"})
        engine.broken = False
        mended = await client.post("/translate", json={"text": SECRET, "target": "fr"})
    assert (broken.status_code, mended.status_code) == (500, 200)
    assert broken.json()["type"] == "urn:problem-type:attend:engine-failed"
    lines = logged()
    [failure] = [line for line in lines if line["event"] == "failure"]
    assert failure["level"] == "error"
    assert failure["request_id"] == broken.json()["request_id"]
    assert [cause["type"] for cause in failure["causes"]] == ["EngineFailedError", "RuntimeError"]
    assert SECRET not in json.dumps(lines)


async def test_an_unexpected_exception_is_an_internal_error(serve: Serve, logged: Logged) -> None:
    async with serve(BrokenEngine()) as client:
        body = {"text": SECRET, "target": "fr", "attention": True}
        response = await client.post("/translate", json=body)
        assert (await client.get("/livez")).status_code == httpx.codes.OK
    document = response.json()
    assert (response.status_code, document["status"]) == (500, 500)
    assert document["type"] == "urn:problem-type:attend:internal-error"
    assert document["request_id"] == response.headers["X-Request-ID"]
    assert response.headers["Content-Type"] == "application/problem+json"
    lines = logged()
    [failure] = [line for line in lines if line["event"] == "failure"]
    assert [cause["type"] for cause in failure["causes"]] == ["IndexError"]
    assert SECRET not in response.text + json.dumps(lines)


async def test_one_line_a_request_with_no_text(client: Client, logged: Logged) -> None:
    logged()
    headers = {"X-Request-ID": "mine-1"}
    body = {"text": SECRET, "target": "fr"}
    await client.post("/translate?q=" + SECRET, json=body, headers=headers)
    [line] = logged()
    assert line.pop("ms") > 0
    assert line.pop("timestamp")
    assert line == {
        "event": "request", "level": "info", "method": "POST", "path": "/translate",
        "status": 200, "request_id": "mine-1",
    }  # fmt: skip


@pytest.mark.parametrize("given", ["a" * 129, "", "two words", "tab\there", "\x7f", "é"])
async def test_a_request_id_that_cannot_be_used_is_replaced(client: Client, given: str) -> None:
    headers = [(b"X-Request-ID", given.encode("latin-1"))]
    response = await client.get("/livez", headers=headers)
    assert len(response.headers["X-Request-ID"]) == 32
    assert response.headers["X-Request-ID"] != given


async def test_a_request_id_is_echoed(client: Client) -> None:
    given = "".join(map(chr, range(0x21, 0x7F)))
    response = await client.get("/livez", headers={"X-Request-ID": given})
    assert response.headers["X-Request-ID"] == given


async def test_an_unhandled_failure_at_the_start_is_logged(tmp_path: Path, logged: Logged) -> None:
    app = create_app(Settings.parse(checkpoint=tmp_path / "missing"))
    lines: list[dict[str, Any]] = []
    async with app.router.lifespan_context(app):
        while not lines:
            await asyncio.sleep(0.01)
            lines = logged()
    [line] = lines
    assert (line["event"], line["level"]) == ("cannot start", "critical")
    assert "missing" in line["reason"]
