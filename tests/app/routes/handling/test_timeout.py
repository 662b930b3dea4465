"""The header X-Request-Timeout, from the request to the engine."""

import asyncio
import threading
import time

import pytest

from app import loading
from tests.app.asking import scheduler
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine
from tests.app.waiting import until

BODY = {"text": "cat", "target": "fr"}


async def test_the_client_may_wait_less_than_the_server_would(serve: Serve) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1), n_slots=1)  # a step, for the warm-up
    async with serve(engine) as client:
        first = asyncio.create_task(client.post("/translate", json=BODY))
        await until(lambda: scheduler(client).load.in_flight == 1)
        began = time.monotonic()
        headers = {"X-Request-Timeout": "0.2"}
        late = await client.post("/translate", json={**BODY, "text": "dog"}, headers=headers)
        assert time.monotonic() - began > 0.15
        assert late.status_code == 504
        assert late.json()["detail"] == "the answer was not ready within 0.2 s"
        assert scheduler(client).load.waiting == 0  # the work is dropped
        engine.release(1000)
        assert (await first).status_code == 200


async def test_the_client_cannot_wait_longer_than_the_server_does(serve: Serve) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine, request_timeout=0.1) as client:
        headers = {"X-Request-Timeout": "1000"}
        answer = await client.post("/translate", json=BODY, headers=headers)
        engine.release(1000)
    assert answer.status_code == 504
    assert "within 0.1 s" in answer.json()["detail"]


@pytest.mark.parametrize(
    "given",
    ["", "soon", "0", "-1", "nan", "inf", "1e999", "1_0", "+5", "1e3", ".5", "5.", "9" * 400],
)
async def test_invalid_timeouts_are_refused(client: Client, given: str) -> None:
    headers = {"X-Request-Timeout": given}
    answer = await client.post("/translate", json=BODY, headers=headers)
    assert answer.status_code == 422
    assert "X-Request-Timeout" in answer.json()["errors"][0]["detail"]


async def test_queued_tokens_are_bounded(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MAX_QUEUE_TOKENS", 50)
    engine = FakeEngine(gate=threading.Semaphore(1), n_slots=1)
    async with serve(engine) as client:

        def ask(text: str) -> asyncio.Task[object]:
            body = {"text": text, "target": "fr"}
            return asyncio.create_task(client.post("/translate", json=body))

        first = ask("house")
        await until(lambda: scheduler(client).load.in_flight == 1)
        large = ask("the cat sees " * 60)  # admitted, since it is alone in the queue
        await until(lambda: scheduler(client).load.waiting == 1)
        assert scheduler(client).load.waiting_tokens > 50
        refused = await client.post("/translate", json=BODY)
        engine.release(1000)
        await asyncio.gather(first, large)
        accepted = await client.post("/translate", json=BODY)
    assert (refused.status_code, accepted.status_code) == (429, 200)
    assert int(refused.headers["Retry-After"]) >= 1
    assert refused.json()["type"] == "urn:problem-type:attend:queue-full"


async def test_a_batch_is_bounded_in_tokens(serve: Serve) -> None:
    engine = FakeEngine()
    async with serve(engine, max_batch_tokens=1) as client:
        body = {"text": ["the cat", "the dog", "a house"], "target": "fr"}
        assert (await client.post("/translate", json=body)).status_code == 200
    assert {len(batch) for batch in engine.admitted} == {1}


async def test_waiting_lists_yield_to_others(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MAX_QUEUE_TOKENS", 50)
    engine = FakeEngine(gate=threading.Semaphore(1), n_slots=1)
    async with serve(engine) as client:
        a_list = {"text": ["the cat sees " * n for n in range(1, 30)], "target": "fr"}
        large = asyncio.create_task(client.post("/translate", json=a_list))
        await until(lambda: scheduler(client).load.waiting_tokens > 50)
        single = asyncio.create_task(client.post("/translate", json=BODY))
        another = await client.post("/translate", json=a_list)
        engine.release(10_000)
        answers = [(await task).status_code for task in (large, single)]
    assert another.status_code == 429
    assert answers == [200, 200]
