"""POST /translate with `"stream": true`, with a real server if necessary."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.routes.handling import responses
from model.engine.protocol import Finished
from tests.app.conftest import Client, Serve
from tests.app.fake_engine import FakeEngine
from tests.app.server_process import serving

Events = list[tuple[str, Any]]


def parse(text: str) -> Iterator[tuple[str, Any]]:
    """Parse the events of a stream, without comments."""
    for block in text.strip().split("\n\n"):
        lines = [line for line in block.split("\n") if not line.startswith(":")]
        if lines:
            name, data = lines
            yield name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


async def streamed(client: httpx.AsyncClient, **body: Any) -> Events:
    response = await client.post("/translate", json=body | {"stream": True})
    assert response.status_code == httpx.codes.OK, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    return list(parse(response.text))


def streamed_text(events: Events, index: int) -> str:
    return "".join(
        data["text"] for name, data in events if name == "token" and data["index"] == index
    )


FR = "La maison est verte."
BODIES: dict[str, dict[str, Any]] = {
    "one": {"text": "The house is green. The dog!\n\n- A cat.", "target": "fr"},
    "greedy": {"text": "The house is green.", "target": "fr", "beam_size": 1},
    "many": {"text": ["The house.", "", "12 %", "Old cat. Old dog."] * 6, "target": "fr"},
    "alternatives": {"text": "The cat.", "target": "fr", "beam_size": 4, "alternatives": 3},
    "placeholders": {"text": "I see {x} and {y}. The cat.", "target": "fr"},
    "html": {"text": "<p>The <b>house</b> is green.</p>", "target": "fr", "format": "html"},
    "auto": {"text": [FR, "The house is green."], "source": "auto", "target": "fr"},
    "explained": {"text": "The cat. A dog.", "target": "fr", "alignment": True, "attention": True},
}


@pytest.mark.parametrize("name", BODIES)
async def test_the_tokens_are_the_text_and_the_end_is_the_answer(serve: Serve, name: str) -> None:
    body = {"max_target_tokens": 20} | BODIES[name]
    async with serve(sentence_cache_bytes=0) as client:
        answer = (await client.post("/translate", json=body)).json()
        events = await streamed(client, **body)
    assert [name for name, _ in events].count("done") == 1
    assert events[-1] == ("done", answer)
    for index, translation in enumerate(answer["translations"]):
        assert streamed_text(events, index) == translation["text"]
        segments = [one for name, one in events if name == "segment" and one["index"] == index]
        if translation.get("segments"):
            assert [(one["source"], one["target"]) for one in segments] == [
                (one["source"], one["target"]) for one in translation["segments"]
            ]


async def test_a_pivoted_stream(serve: Serve, row_of_checkpoints: tuple[Path, Path]) -> None:
    body = {"text": "Le chat. Le chien.", "source": "fr", "target": "de", "max_target_tokens": 20}
    async with serve(checkpoint=row_of_checkpoints) as client:
        answer = (await client.post("/translate", json=body)).json()
        events = await streamed(client, **body)
    assert events[-1] == ("done", answer)
    assert streamed_text(events, 0) == answer["translations"][0]["text"]
    assert {name for name, _ in events} == {"token", "done"}


async def test_tokens_come_one_by_one(serve: Serve) -> None:
    async with serve(sentence_cache_bytes=0) as client:
        events = await streamed(
            client, text="The house is green.", target="fr", beam_size=1, max_target_tokens=20
        )
    assert sum(name == "token" for name, _ in events) > 5


async def test_from_memory_it_comes_at_once_and_the_same(served: Client) -> None:
    body = {"text": "The house is green. The cat.", "target": "fr"}
    events = await streamed(served, **body)
    again = await streamed(served, **body)
    assert again[-1] == events[-1]
    assert streamed_text(again, 0) == streamed_text(events, 0)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"text": "cat", "target": "xx"}, 404),
        ({"text": "cat", "target": "fr", "stream": "yes"}, 422),
        ({"text": "cat", "target": "fr", "alternatives": 7, "beam_size": 2}, 422),
        ({"text": ["cat"] * 5, "target": "fr"}, 422),
    ],
)
async def test_early_failures_are_statuses(serve: Serve, body: dict[str, Any], status: int) -> None:
    async with serve(max_texts=4) as client:
        response = await client.post("/translate", json={"stream": True} | body)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"


class FailingEngine(FakeEngine):
    """Fails at the end of a sentence if `broken` is true."""

    broken = False

    def step(self) -> list[Finished]:
        finished = super().step()
        if self.broken and finished:
            raise RuntimeError("secret")
        return finished


async def test_a_later_failure_is_an_event(serve: Serve) -> None:
    engine = FailingEngine(n_steps=3)
    async with serve(engine) as client:
        engine.broken = True
        response = await client.post(
            "/translate",
            json={"text": "The house is green.", "target": "fr", "stream": True},
            headers={"X-Request-ID": "abc"},
        )
    events = list(parse(response.text))
    assert events[0][0] == "token"
    assert [name for name, _ in events].count("error") == 1
    name, problem = events[-1]
    assert name == "error"
    assert problem["type"] == "urn:problem-type:attend:engine-failed"
    assert (problem["status"], problem["request_id"]) == (500, "abc")
    assert "secret" not in response.text


def ask(client: httpx.AsyncClient, **body: Any) -> asyncio.Task[Events]:
    return asyncio.create_task(streamed(client, target="fr", **body))


def warm(n_steps: int) -> FakeEngine:
    """Waits after the warm-up and two steps, so that there is a token."""
    return FakeEngine(n_steps=n_steps, gate=threading.Semaphore(n_steps + 2))


async def test_the_deadline_is_an_event_too(serve: Serve) -> None:
    engine = warm(n_steps=5)
    async with serve(engine, request_timeout=1.5) as client:
        events = await ask(client, text="The house is green.")
        engine.release()
    assert [name for name, _ in events] == ["token", "token", "error"]
    assert events[-1][1]["status"] == 504


async def test_a_stream_is_charged_once_its_first_event_is_sent(serve: Serve) -> None:
    engine = FailingEngine(n_steps=1)
    text = "The house is green."
    async with serve(engine) as client:

        async def used() -> int:
            count: int = (await client.get("/v2/usage")).json()["character_count"]
            return count

        await ask(client, text=text)
        assert await used() == len(text)
        engine.broken = True
        body = {"text": "A cat.", "target": "fr", "stream": True}
        assert (await client.post("/translate", json=body)).status_code == 500
        assert await used() == len(text)
        engine.n_steps = 3  # two tokens before it fails
        assert (await ask(client, text="A cat."))[-1][0] == "error"
        assert await used() == len(text) + len("A cat.")


async def test_comments_keep_it_alive(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "KEEP_ALIVE", 0.01)
    engine = FakeEngine(n_steps=5, gate=threading.Semaphore(5))
    async with serve(engine) as client:
        body = {"text": "The house is green.", "target": "fr", "stream": True}
        engine.in_step.clear()
        asking = asyncio.create_task(client.post("/translate", json=body))
        await asyncio.to_thread(engine.in_step.wait, 60)
        await asyncio.sleep(0.1)
        engine.release()
        response = await asking
    assert response.text.startswith(": ping\n\n")
    assert list(parse(response.text))[-1][0] == "done"


def test_a_served_stream_comes_in_parts_and_can_be_left(
    tiny_checkpoint: Path, kernels: None
) -> None:
    flags = ("--max-concurrent-requests", "1", "--threads", "1", "--sentence-cache-bytes", "0",
             "--request-timeout", "600")  # fmt: skip
    texts = ["the cat sees the old dog " * 3] * 50
    body = {"text": texts, "target": "fr", "beam_size": 8, "stream": True}
    quick = {"text": "cat", "target": "fr", "beam_size": 1}
    with serving(tiny_checkpoint, *flags) as (_, client):
        began = time.monotonic()
        with client.stream("POST", "/translate", json=body) as response:
            arrivals: list[float] = []
            received = ""
            for piece in response.iter_text():
                arrivals.append(time.monotonic() - began)
                received += piece
        events = list(parse(received))
        answer = client.post("/translate", json=body | {"stream": False}).json()
        assert events[-1] == ("done", answer)
        assert arrivals[0] < 0.9 * arrivals[-1]
        assert len(arrivals) > 10

        longer = body | {"text": texts * 30}
        with client.stream("POST", "/translate", json=longer) as response:
            pieces = response.iter_text()  # keeps a reference, without which the connection closes
            next(pieces)
            assert client.post("/translate", json=quick).status_code == 429
        end = time.monotonic() + 10 + 10 * arrivals[-1]
        while (response := client.post("/translate", json=quick)).status_code == 429:
            assert time.monotonic() < end
            time.sleep(0.02)
        assert response.status_code == httpx.codes.OK


async def test_an_event_has_no_line_break_of_unicode(client: Client) -> None:
    text = "The cat.\u2028The dog.\u2029The house.\x85"
    body = {"text": text, "target": "fr", "stream": True}
    async with client.stream("POST", "/translate", json=body) as response:
        lines = [line async for line in response.aiter_lines()]
    events = list(parse("\n".join(lines)))
    assert streamed_text(events, 0) == events[-1][1]["translations"][0]["text"]
    assert {"\u2028", "\u2029", "\x85"} <= set(streamed_text(events, 0))
