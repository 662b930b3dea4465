import asyncio

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from app.routes.handling.responses import while_connected


class Client:
    """A client that disconnects when the test says so."""

    def __init__(self) -> None:
        self.left = asyncio.Event()
        self.request = Request({"type": "http", "headers": []}, self._receive)

    async def _receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}


async def _iterate_loop() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_exceptions_of_the_work_are_raised() -> None:
    async def work() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await while_connected(Client().request, work())


async def test_a_client_that_leaves_ends_only_its_work() -> None:
    client, ended = Client(), asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    asyncio.get_running_loop().call_later(0.01, client.left.set)
    with pytest.raises(ClientDisconnect):
        await while_connected(client.request, work())
    assert ended.is_set()
    task = asyncio.current_task()
    assert task
    assert not task.cancelling()


async def test_a_client_may_leave_as_the_work_ends() -> None:
    client = Client()

    async def work() -> int:
        client.left.set()
        await asyncio.sleep(0)  # the disconnection is known, but not yet handled
        return 7

    assert await while_connected(client.request, work()) == 7
    await _iterate_loop()


async def test_cancellation_from_outside_is_not_a_disconnect() -> None:
    task = asyncio.create_task(while_connected(Client().request, asyncio.Event().wait()))
    await _iterate_loop()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
