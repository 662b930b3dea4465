import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Scope

from app.errors import QueueFullError
from app.routes.handling.responses import MAX_UNSENT, NativeEncoding, Unsent, event_stream
from app.translation.answers import Events, TokenEvent, TranslateAnswer, Usage

ANSWER = TranslateAnswer(
    model="m", translations=[], usage=Usage(characters=0, source_tokens=0, target_tokens=0)
)
TOKEN = TokenEvent(index=0, text="a")


class Client:
    """A client that disconnects when the test says so."""

    def __init__(self) -> None:
        self.left = asyncio.Event()
        self.got: list[Message] = []
        self.scope: Scope = {"type": "http", "headers": [], "state": {"request_id": "id"}}
        self.request = Request(self.scope, self.receive)

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.got.append(message)

    async def read(self, work: "Work") -> None:
        """Return the whole stream."""
        response = await event_stream(self.request, work, NativeEncoding())
        await response(self.scope, self.receive, self.send)


class Work:
    """Sends a token if requested, then ends on command."""

    def __init__(self, *, streams: bool) -> None:
        self.streams = streams
        self.end: asyncio.Future[TranslateAnswer] = asyncio.get_running_loop().create_future()
        self.cancelled = asyncio.Event()

    async def __call__(self, events: Events) -> TranslateAnswer:
        if self.streams:
            events.put(TOKEN)
        try:
            return await self.end
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def was_cancelled(self) -> None:
        async with ends_soon():
            await self.cancelled.wait()


@asynccontextmanager
async def ends_soon() -> AsyncIterator[None]:
    async with asyncio.timeout(60):
        yield


async def test_token_and_answer() -> None:
    client, work = Client(), Work(streams=True)
    work.end.set_result(ANSWER)
    await client.read(work)
    start, *bodies = client.got
    assert dict(start["headers"])[b"cache-control"] == b"no-cache"
    assert b"".join(body["body"] for body in bodies) == (
        b'event: token\ndata: {"index":0,"text":"a"}\n\n'
        b'event: done\ndata: {"model":"m","translations":[],"usage":{"characters":0,'
        b'"source_tokens":0,"target_tokens":0}}\n\n'
    )


async def test_an_answer_without_events_is_streamed_too() -> None:
    client, work = Client(), Work(streams=False)
    work.end.set_result(ANSWER)
    await client.read(work)
    assert client.got[1]["body"].startswith(b"event: done\n")


async def test_failures_before_the_first_event_are_raised() -> None:
    client, work = Client(), Work(streams=False)
    work.end.set_exception(QueueFullError("full"))
    with pytest.raises(QueueFullError):
        await event_stream(client.request, work, NativeEncoding())


async def test_a_client_that_leaves_before_any_event_ends_the_work() -> None:
    client, work = Client(), Work(streams=False)
    client.left.set()
    with pytest.raises(ClientDisconnect):
        await event_stream(client.request, work, NativeEncoding())
    await work.was_cancelled()


async def test_a_client_that_leaves_later_ends_the_work() -> None:
    client, work = Client(), Work(streams=True)
    response = await event_stream(client.request, work, NativeEncoding())
    streaming = asyncio.create_task(response(client.scope, client.receive, client.send))
    async with ends_soon():
        while len(client.got) < 2:
            await asyncio.sleep(0)
        client.left.set()
        await streaming
        await work.cancelled.wait()
    assert client.scope["state"]["failure"] == "client-gone"


async def test_a_response_that_cannot_begin_ends_the_work() -> None:
    async def broken(message: Message) -> None:
        raise OSError

    client, work = Client(), Work(streams=True)
    client.scope["asgi"] = {"spec_version": "2.4"}
    response = await event_stream(client.request, work, NativeEncoding())
    with pytest.raises(ClientDisconnect):
        await response(client.scope, client.receive, broken)
    await work.was_cancelled()


async def test_a_later_failure_is_an_event_and_known_to_the_metrics() -> None:
    client, work = Client(), Work(streams=True)
    response = await event_stream(client.request, work, NativeEncoding())
    work.end.set_exception(QueueFullError("full"))
    await response(client.scope, client.receive, client.send)
    last = client.got[-2]["body"]
    assert last.startswith(b'event: error\ndata: {"type": "urn:problem-type:attend:queue-full"')
    assert client.scope["state"]["failure"] == "queue-full"


async def test_work_waits_for_a_client_that_does_not_read() -> None:
    events = Unsent()
    for _ in range(MAX_UNSENT):
        events.put(TOKEN)
    draining = asyncio.create_task(events.drain())
    await asyncio.sleep(0)
    assert not draining.done()
    await events.get()
    async with ends_soon():
        await draining
