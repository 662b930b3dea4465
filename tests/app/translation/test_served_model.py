from __future__ import annotations

import asyncio
import threading

import httpx
import pytest

from app.translation.served_model import MAX_INLINE_CHARACTERS, MAX_INTERACTIVE_SENTENCES
from tests.app.asking import scheduler
from tests.app.asynchronous import asynchronous
from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine
from tests.app.scheduling.harness import until


@pytest.mark.parametrize(
    ("n_texts", "bulk"),
    [(MAX_INTERACTIVE_SENTENCES, False), (MAX_INTERACTIVE_SENTENCES + 1, True)],
)
@asynchronous
async def test_a_long_list_waits_in_the_bulk_lane(serve: Serve, n_texts: int, bulk: bool) -> None:
    engine = FakeEngine(n_slots=1, gate=threading.Semaphore(1))  # one step, for the warm-up
    async with serve(engine, sentence_cache_bytes=0) as client:
        assert engine.gate

        async def ask(texts: list[str]) -> httpx.Response:
            return await client.post("/translate", json={"text": texts, "target": "fr"})

        first = asyncio.create_task(ask(["cat"]))
        await until(lambda: scheduler(client).load.in_flight == 1)
        many = asyncio.create_task(ask(["the house is nice today and the cat is green"] * n_texts))
        await until(lambda: scheduler(client).load.waiting == n_texts)
        single = asyncio.create_task(ask(["dog"]))
        await until(lambda: scheduler(client).load.waiting == n_texts + 1)
        engine.gate.release(1000)
        answers = await asyncio.gather(first, many, single)
    assert {answer.status_code for answer in answers} == {200}
    names = [name for batch in engine.admitted[2:] for name in batch]  # less warm-up and first
    [place] = [index for index, name in enumerate(names) if names.count(name) == 1]
    assert (place == 0) == bulk  # in one lane it waits for the list's first turn


@asynchronous
async def test_a_slow_warm_up_says_nothing_of_the_pace(serve: Serve) -> None:
    """The forecast would otherwise refuse the first burst after a start."""
    gate = threading.Semaphore(0)
    engine = FakeEngine(n_slots=1, gate=gate)
    threading.Timer(0.2, gate.release).start()
    async with serve(engine) as client:
        scheduler = client._transport.app.state.lifecycle.started.schedulers[0]  # type: ignore[attr-defined]
        asked = asyncio.create_task(client.post("/translate", json={"text": "a", "target": "fr"}))
        await until(lambda: scheduler.load.in_flight == 1)
        forecast = scheduler.forecast()
        gate.release()
        assert (await asked).status_code == httpx.codes.OK
    assert forecast == 0


@pytest.mark.parametrize("n_characters", [MAX_INLINE_CHARACTERS, MAX_INLINE_CHARACTERS + 1])
@asynchronous
async def test_long_texts_are_tokenised_beside_the_event_loop(
    serve: Serve, n_characters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(FakeEngine()) as client:
        [model] = client._transport.app.state.lifecycle.started.service._models  # type: ignore[attr-defined]
        tokenised_in: list[threading.Thread] = []
        cut = model._cut

        def note(*args: object) -> object:
            tokenised_in.append(threading.current_thread())
            return cut(*args)

        monkeypatch.setattr(model, "_cut", note)
        texts = ["cat " * (n_characters // 40) for _ in range(10)]
        texts[0] += "." * (n_characters - sum(map(len, texts)))
        response = await client.post("/translate", json={"text": texts, "target": "fr"})
        assert response.status_code == 200
    inline = tokenised_in == [threading.current_thread()]
    assert inline == (n_characters <= MAX_INLINE_CHARACTERS)
