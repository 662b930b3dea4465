"""A full server refuses before it reads, and lets everything else through."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import httpx
import pytest

from app.server.load_shedding import MANY, Overload
from app.server.loop_lag import SUSTAINED
from app.server.security_headers import ALWAYS
from tests.app.asking import scheduler
from tests.app.asynchronous import asynchronous
from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine
from tests.app.observe.test_metrics import of, read
from tests.app.scheduling.harness import until

BODY = {"text": "cat", "target": "fr"}


@asynchronous
async def test_a_full_server_does_not_even_read_the_body(serve: Serve) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1))  # one step, for the warm-up
    async with serve(engine, max_concurrent_requests=1) as client:
        assert engine.gate
        first = asyncio.create_task(client.post("/translate", json=BODY))
        await until(lambda: scheduler(client).load.in_flight == 1)
        n_read = 0

        async def body() -> AsyncIterator[bytes]:
            nonlocal n_read
            n_read += 1
            yield b"{}"

        headers = {"X-Request-ID": "mine", "Content-Type": "application/json"}
        refused = await client.post("/translate", content=body(), headers=headers)
        during = [(await client.get(path)).status_code for path in ("/livez", "/readyz", "/info")]
        engine.gate.release(1000)
        assert (await first).status_code == httpx.codes.OK
        assert (await client.post("/translate", json=BODY)).status_code == httpx.codes.OK
        series = await read(client)
    assert n_read == 0
    assert refused.status_code == httpx.codes.TOO_MANY_REQUESTS
    assert refused.json()["type"] == "urn:problem-type:attend:queue-full"
    assert refused.json()["request_id"] == refused.headers["X-Request-ID"] == "mine"
    assert int(refused.headers["Retry-After"]) >= 1
    assert {name: refused.headers[name] for name in ALWAYS} == ALWAYS
    assert during == [200, 200, 200]
    assert of(series, "attend_request_rejected_total", reason="queue-full") == 1
    assert of(series, "attend_request_count_total", route="refused-early") == 1


@pytest.mark.parametrize(
    ("path", "member"), [("/v2/translate", "message"), ("/translate?q=cat", "error")]
)
@asynchronous
async def test_it_refuses_in_the_dialect_of_who_asks(serve: Serve, path: str, member: str) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine, max_concurrent_requests=1) as client:
        assert engine.gate
        first = asyncio.create_task(client.post("/translate", json=BODY))
        await until(lambda: scheduler(client).load.in_flight == 1)
        refused = await client.post(path)
        engine.gate.release(1000)
        await first
    assert refused.status_code == httpx.codes.TOO_MANY_REQUESTS
    assert list(refused.json()) == [member]


@asynchronous
async def test_a_loop_that_is_behind_many_requests_refuses_what_is_posted(serve: Serve) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine) as client:
        assert engine.gate
        state = client._transport.app.state  # type: ignore[attr-defined]
        admission = state.lifecycle.started.admission
        state.lag.stop()
        state.lag._n_late = SUSTAINED
        admitted = []
        for n in range(1, MANY + 1):  # few are none too many, whatever the loop's clock says
            admitted.append(asyncio.create_task(client.post("/translate", json=BODY)))
            await until(lambda n=n: admission.n_admitted == n)  # type: ignore[misc]
        refused = await client.post("/translate", json=BODY)
        alive = await client.get("/livez")
        state.lag._n_late = 0
        admitted.append(asyncio.create_task(client.post("/translate", json=BODY)))
        await until(lambda: admission.n_admitted == MANY + 1)
        engine.gate.release(10_000)
        answers = await asyncio.gather(*admitted)
    assert (refused.status_code, alive.status_code) == (429, 200)
    assert {answer.status_code for answer in answers} == {200}
    assert refused.headers["Retry-After"] == "1"


@asynchronous
async def test_whoever_is_about_to_take_a_place_counts_as_if_there(serve: Serve) -> None:
    async with serve(FakeEngine(), max_concurrent_requests=2) as client:
        overload: Overload = client._transport.app.state.overload  # type: ignore[attr-defined]
        post = {"method": "POST", "path": "/translate", "headers": [], "query_string": b""}
        refusals = [overload.refusal(post, n_coming) for n_coming in range(4)]
    assert [one.status_code if one else None for one in refusals] == [None, None, 429, 429]
