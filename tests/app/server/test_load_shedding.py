"""A full server rejects requests before reading them, and starts a burst a few at a time."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from app.observe.metrics import Metrics
from app.scheduling.admission import Admission
from app.server.load_shedding import (
    AT_A_TIME,
    MANY,
    MAX_LAG,
    SUSTAINED,
    Gate,
    LoadShedding,
    LoopLag,
)
from app.server.middleware import ALWAYS
from tests.app.asking import scheduler
from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine
from tests.app.observe.test_metrics import of, read
from tests.app.waiting import until

BODY = {"text": "cat", "target": "fr"}


async def test_a_full_server_does_not_even_read_the_body(serve: Serve) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1))  # one step, for the warm-up
    async with serve(engine, max_concurrent_requests=1) as client:
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
        engine.release(1000)
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
async def test_it_refuses_in_the_dialect_of_the_client(
    serve: Serve, path: str, member: str
) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine, max_concurrent_requests=1) as client:
        first = asyncio.create_task(client.post("/translate", json=BODY))
        await until(lambda: scheduler(client).load.in_flight == 1)
        refused = await client.post(path)
        engine.release(1000)
        await first
    assert refused.status_code == httpx.codes.TOO_MANY_REQUESTS
    assert list(refused.json()) == [member]


async def test_a_lagging_loop_with_many_requests_refuses_posts(serve: Serve) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine) as client:
        state = client._transport.app.state  # type: ignore[attr-defined]
        admission = state.lifecycle.started.admission
        state.lag.stop()
        state.lag._n_late = SUSTAINED
        admitted = []
        for n in range(1, MANY + 1):  # a few are served even if the loop lags
            admitted.append(asyncio.create_task(client.post("/translate", json=BODY)))
            await until(lambda n=n: admission.n_admitted == n)  # type: ignore[misc]
        refused = await client.post("/translate", json=BODY)
        alive = await client.get("/livez")
        state.lag._n_late = 0
        admitted.append(asyncio.create_task(client.post("/translate", json=BODY)))
        await until(lambda: admission.n_admitted == MANY + 1)
        engine.release(10_000)
        answers = await asyncio.gather(*admitted)
    assert (refused.status_code, alive.status_code) == (429, 200)
    assert {answer.status_code for answer in answers} == {200}
    assert refused.headers["Retry-After"] == "1"


async def test_requests_that_are_about_to_take_a_slot_count(serve: Serve) -> None:
    """Requests of one iteration are checked before any of them has a slot."""
    n_requests = 3 * AT_A_TIME
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine, max_concurrent_requests=AT_A_TIME + 2) as client:
        posts = [
            asyncio.create_task(client.post("/translate", json=BODY)) for _ in range(n_requests)
        ]
        rejected = n_requests - AT_A_TIME - 2
        await until(lambda: sum(post.done() for post in posts) >= rejected)
        engine.release(1000)
        statuses = sorted(answer.status_code for answer in await asyncio.gather(*posts))
        series = await read(client)
    assert statuses == [200] * (AT_A_TIME + 2) + [429] * rejected
    assert of(series, "attend_request_count_total", route="refused-early") == rejected


N = 3 * AT_A_TIME + 1


async def test_requests_start_in_order_a_few_per_iteration() -> None:
    """Later requests queue behind those that wait."""
    gate = Gate()
    started: list[int] = []

    async def request(number: int) -> None:
        await gate.turn()
        started.append(number)

    def ask(numbers: range) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(request(number)) for number in numbers]

    n_all = N + AT_A_TIME
    tasks = ask(range(N))
    counts: list[int] = []
    while len(started) < n_all:
        await asyncio.sleep(0)
        if not counts:
            tasks += ask(range(N, n_all))
        counts.append(len(started))
    assert started == list(range(n_all))
    assert max(after - before for before, after in pairwise([0, *counts])) == AT_A_TIME
    await asyncio.gather(*tasks)


async def test_a_burst_of_any_method_waits_in_its_own_queue_and_a_probe_in_none() -> None:
    started: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        started.append(scope["path"])

    runtime = SimpleNamespace(admission=Admission(1000, lambda: 0.0))
    lifecycle: Any = SimpleNamespace(open=runtime)
    shedding = LoadShedding(app, lifecycle, Metrics(), lag=LoopLag(), timeout=1)

    async def send(method: str, path: str) -> None:
        nothing: Any = None
        await shedding({"type": "http", "method": method, "path": path}, nothing, nothing)

    tasks = [asyncio.create_task(send("POST", "/translate")) for _ in range(N)]
    tasks += [asyncio.create_task(send("GET", "/languages")) for _ in range(N)]
    tasks.append(asyncio.create_task(send("GET", "/livez")))
    await asyncio.gather(*tasks)
    assert started[0] == "/livez"
    counts = Counter(started[1 : 1 + 2 * AT_A_TIME])
    assert counts == {"/translate": AT_A_TIME, "/languages": AT_A_TIME}


async def test_the_dialect_of_a_rejection_takes_no_parsing_of_a_long_query(serve: Serve) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine, max_concurrent_requests=1) as client:
        first = asyncio.create_task(client.post("/translate", json=BODY))
        await until(lambda: scheduler(client).load.in_flight == 1)
        keys = [
            set((await client.post(f"/translate?{query}")).json())
            for query in ("a=b&q=cat", "q=", "aq=b", "faq=q", "a&" * 1000 + "q=c")
        ]
        engine.release(1000)
        await first
    is_libretranslate = [one == {"error"} for one in keys]
    assert is_libretranslate == [True, True, False, False, True]


async def test_a_cancelled_request_delays_no_other() -> None:
    gate = Gate()
    tasks = [asyncio.create_task(gate.turn()) for _ in range(N)]
    await asyncio.sleep(0)
    tasks[AT_A_TIME].cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(one, asyncio.CancelledError) for one in done].count(True) == 1
    assert gate.n_coming <= AT_A_TIME


class Loop:
    """An event loop with one timer, which the test calls."""

    def __init__(self) -> None:
        self.now = 100.0
        self.calls: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, call: Callable[..., None], *arguments: object) -> Any:
        self.calls.append((self.now + delay, partial(call, *arguments)))
        return SimpleNamespace(cancel=self.calls.clear)

    def turn(self, late: float) -> None:
        due, call = self.calls.pop()
        self.now = due + late
        call()


def test_lag_is_sustained_after_several_late_turns_until_one_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, lag = Loop(), LoopLag()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
    lag.start()
    for _ in range(3):
        loop.turn(MAX_LAG / 2)
        assert not lag.sustained
    for _ in range(SUSTAINED - 1):
        loop.turn(MAX_LAG + 0.01)
    assert not lag.sustained
    loop.turn(MAX_LAG + 0.01)
    assert lag.sustained
    loop.turn(0)
    assert not lag.sustained


def test_it_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, lag = Loop(), LoopLag()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
    lag.stop()  # before it began
    lag.start()
    assert loop.calls
    lag.stop()
    assert not loop.calls
