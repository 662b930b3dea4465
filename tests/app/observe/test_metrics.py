"""Metrics; they contain no text of a request."""

import asyncio
import re
import threading
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.observe.metrics import (
    CLIENT_GONE,
    DURATIONS,
    ENGINE_FAILURES,
    GAUGES,
    RETRY_REASONS,
    Gauges,
    Metrics,
)
from app.observe.timings import Timings
from app.wire.problems import HTTP_KINDS, KINDS
from tests.app.asking import scheduler
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import POISON, FakeEngine
from tests.app.scheduling.harness import running, submit
from tests.app.waiting import until

SECRET = "xyxxy"

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def parse(text: str) -> Series:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def collected(metrics: Metrics) -> Series:
    return parse(metrics.exposition()[0].decode())


def of(series: Series, name: str, **labels: str) -> float:
    return series[name, tuple(sorted(labels.items()))]


async def read(client: httpx.AsyncClient) -> Series:
    response = await client.get("/metrics")
    assert response.status_code == httpx.codes.OK
    return parse(response.text)


def test_durations_have_thirty_five_bounds_from_fifteen_microseconds() -> None:
    assert len(DURATIONS) == 35
    assert DURATIONS[0] == 15e-6
    assert DURATIONS[1] / DURATIONS[0] == pytest.approx(1.5)
    metrics = Metrics()
    metrics.answered("/translate", DURATIONS[3])
    series = collected(metrics)
    bounds = [
        float(dict(labels)["le"])
        for name, labels in series
        if name == "attend_request_duration_seconds_bucket"
    ]
    assert len(bounds) == 36  # infinity
    counts = [
        value
        for (name, _), value in series.items()
        if name == "attend_request_duration_seconds_bucket"
    ]
    assert counts == [0] * 3 + [1] * 33


def test_a_failure_is_a_rejection_or_a_cancellation_or_neither() -> None:
    metrics = Metrics()
    metrics.failed("/translate", "queue-full", 0.001, rejected=True)
    metrics.failed("/translate", CLIENT_GONE, 0.001)
    metrics.failed("/translate", "deadline-exceeded", 0.001)
    metrics.failed("/translate", "invalid-request", 0.001)
    series = collected(metrics)
    assert of(series, "attend_request_count_total", route="/translate") == 4
    assert of(series, "attend_request_rejected_total", reason="queue-full") == 1
    dropped = {
        dict(labels)["reason"]
        for name, labels in series
        if name == "attend_request_cancelled_total"
    }
    assert dropped == {CLIENT_GONE, "deadline-exceeded"}
    failed = {
        dict(labels)["reason"] for name, labels in series if name == "attend_request_failure_total"
    }
    assert failed == dropped | {"queue-full", "invalid-request"}


def test_the_stages_of_a_request() -> None:
    metrics = Metrics()
    metrics.translated(Timings(tokenize=1, queue=2, decode=3, detokenize=4), source_tokens=7)
    series = collected(metrics)
    stages = ("tokenization", "queue", "inference", "detokenization")
    sums = [of(series, f"attend_request_{one}_duration_seconds_sum") for one in stages]
    assert sums == [1, 2, 3, 4]
    assert of(series, "attend_request_input_tokens_sum") == 7
    assert of(series, "attend_request_input_tokens_bucket", le="8.0") == 1
    assert of(series, "attend_request_input_tokens_bucket", le="4.0") == 0


def test_gauges_are_read_at_each_scrape() -> None:
    metrics = Metrics()
    assert of(collected(metrics), "attend_queue_size") == 0
    metrics.watch(lambda: Gauges(1, 2, 3, 4, 5, 6))
    series = collected(metrics)
    assert [of(series, name) for name, _ in GAUGES.values()] == [1, 2, 3, 4, 5, 6]


def test_openmetrics_if_the_client_prefers_it() -> None:
    content, media_type = Metrics().exposition("application/openmetrics-text; version=1.0.0")
    assert media_type.startswith("application/openmetrics-text")
    assert content.endswith(b"# EOF\n")
    assert Metrics().exposition("*/*")[1].startswith("text/plain")


async def test_steps_and_finished_sentences_are_counted() -> None:
    engine = FakeEngine(n_steps=3)
    async with running(engine) as scheduler:
        await submit(scheduler, 11, 12, length=5)
        series = collected(scheduler.metrics)
    steps = of(series, "attend_batch_size_count")
    assert steps == 3
    assert of(series, "attend_step_duration_seconds_count") == steps
    assert of(series, "attend_batch_size_sum") == 2 * steps
    assert of(series, "attend_batch_rows_sum") == 2 * steps * 4  # with a beam of 4 each
    assert of(series, "attend_batch_tokens_sum") == 2 * steps * 5
    assert of(series, "attend_tokens_read_total") == 10
    assert of(series, "attend_tokens_generated_total") == 2 * 4  # three tokens and the end


async def test_requests_are_counted_by_route_and_failures_by_reason(serve: Serve) -> None:
    engine = FakeEngine()
    async with serve(engine) as client:
        before = await read(client)
        # Series start at 0, so that the first failure is an increase.
        assert of(before, "attend_request_count_total", route="/translate") == 0
        for reason in REASONS - set(RETRY_REASONS):
            assert of(before, "attend_request_failure_total", reason=reason) == 0
        for kind in ENGINE_FAILURES:
            assert of(before, "attend_engine_failures_total", kind=kind) == 0
        assert of(before, "attend_request_rejected_total", reason="queue-full") == 0
        for _ in range(2):
            await client.post("/translate", json={"text": "cat", "target": "fr"})
        await client.post("/translate", json={"text": 1})
        await client.get("/livez")
        await client.get("/info")
        series = await read(client)
    assert of(series, "attend_request_count_total", route="/translate") == 3
    assert of(series, "attend_request_success_total", route="/translate") == 2
    assert of(series, "attend_request_success_total", route="/info") == 1
    assert of(series, "attend_request_failure_total", reason="invalid-request") == 1
    assert of(series, "attend_request_duration_seconds_count") == 4  # probes are not counted
    assert of(series, "attend_request_inference_duration_seconds_count") == 2
    assert of(series, "attend_request_inference_duration_seconds_sum") > 0
    assert of(series, "attend_engines") == 1
    assert series["process_resident_memory_bytes", ()] > 0


async def test_gauges_of_what_waits_and_of_what_is_in_the_engine(serve: Serve) -> None:
    engine = FakeEngine(n_slots=1, gate=threading.Semaphore(1))  # one step, for the warm-up
    async with serve(engine, max_concurrent_requests=3, sentence_cache_bytes=0) as client:
        body = {"text": "cat", "target": "fr"}
        requests = [asyncio.create_task(client.post("/translate", json=body)) for _ in range(3)]
        await until(
            lambda: scheduler(client).load.in_flight == 1 and scheduler(client).load.waiting == 2
        )
        refused = await client.post("/translate", json=body)
        during = await read(client)
        engine.release(1000)
        await asyncio.gather(*requests)
        after = await read(client)
    assert refused.status_code == httpx.codes.TOO_MANY_REQUESTS
    assert of(during, "attend_requests_admitted") == 3
    assert of(during, "attend_queue_size") == 2
    assert of(during, "attend_queue_tokens") == 2 * of(during, "attend_batch_current_tokens")
    assert of(during, "attend_batch_current_size") == 1
    assert of(after, "attend_request_rejected_total", reason="queue-full") == 1
    names = ("requests_admitted", "queue_size", "queue_tokens", "batch_current_size")
    assert [of(after, f"attend_{name}") for name in names] == [0] * 4


REASONS = {kind.slug for kind in (*KINDS.values(), *HTTP_KINDS.values())}
REASONS |= {CLIENT_GONE, *RETRY_REASONS}


async def test_a_hostile_request_cannot_make_a_label(client: Client) -> None:
    hostile: list[dict[str, Any]] = [
        {"method": "GET", "url": f"/{SECRET}"},
        {"method": SECRET.upper(), "url": "/translate"},
        {"method": "POST", "url": f"/translate/{SECRET}?{SECRET}={SECRET}"},
        {"method": "POST", "url": "/translate", "json": {"text": SECRET, "target": SECRET}},
        {"method": "POST", "url": "/translate", "json": {SECRET: SECRET}},
        {"method": "POST", "url": "/translate", "content": SECRET},
        {"method": "POST", "url": "/translate", "json": {"text": SECRET, "target": "fr"}},
        {"method": "POST", "url": "/translate", "headers": {"Content-Type": SECRET}},
    ]
    headers = {
        "X-Request-ID": SECRET, "traceparent": SECRET, "User-Agent": SECRET, "Host": SECRET,
        "Authorization": SECRET, "X-Forwarded-For": SECRET,
    }  # fmt: skip
    started = await read(client)
    for one in hostile:
        await client.request(**{**one, "headers": headers | one.get("headers", {})})
    once = await client.get("/metrics", headers={"Accept": SECRET})
    for number in range(20):
        await client.get(f"/{SECRET}/{number}")
        await client.request(f"{SECRET}{number}".upper(), f"/translate/{number}")
    again = await client.get("/metrics")
    assert SECRET not in (once.text + again.text).lower()
    series = parse(again.text)
    assert set(series) == set(parse(once.text))
    assert set(series) == set(started)
    labels = {pair for _, pairs in series for pair in pairs}
    assert {value for name, value in labels if name == "reason"} <= REASONS
    routes = {value for name, value in labels if name == "route"}
    assert routes == {dict(pairs)["route"] for _, pairs in started if dict(pairs).get("route")}


async def test_a_client_that_left_is_a_cancellation(serve: Serve) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine) as client:
        app = client._transport.app  # type: ignore[attr-defined]
        received = iter([{"type": "http.request", "body": b'{"text": "cat", "target": "fr"}'}])

        async def receive() -> dict[str, Any]:
            return next(received, {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            raise AssertionError("the client has left")

        scope: dict[str, Any] = {
            "type": "http", "method": "POST", "path": "/translate", "headers": [],
            "query_string": b"", "raw_path": b"/translate", "root_path": "", "scheme": "http",
            "http_version": "1.1", "server": None, "client": None, "asgi": {"version": "3.0"},
        }  # fmt: skip
        await app(scope, receive, send)
        engine.release(1000)
        series = await read(client)
    assert of(series, "attend_request_cancelled_total", reason=CLIENT_GONE) == 1


async def test_a_sentence_that_fails_is_neither_read_nor_generated() -> None:
    async with running(FakeEngine()) as scheduler:
        await asyncio.wait([submit(scheduler, POISON)])
        series = collected(scheduler.metrics)
    assert of(series, "attend_tokens_read_total") == 0


def test_names_are_those_of_the_convention() -> None:
    metrics = Metrics()
    text = metrics.exposition()[0].decode()
    names = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    own = {name for name in names if not name.startswith(("process_", "python_"))}
    assert all(name.startswith("attend_") for name in own)
    assert not [name for name in own if name.endswith("_created")]
