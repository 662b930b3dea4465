from __future__ import annotations

import asyncio
import threading
from random import Random

import pytest

from app.concurrency.abandonment import in_thread
from app.errors import QueueFullError
from app.scheduling.room import MAX_WAITING, SMALL, VERY_LARGE, Room
from tests.app.asynchronous import asynchronous

SIZE = 100 * SMALL


class Visitors:
    """Requests that wait for room; `inside` are the names of those that have it."""

    def __init__(self) -> None:
        self.room = Room(SIZE)
        self.inside: list[str] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ends: dict[str, asyncio.Event] = {}

    async def come(self, name: str, size: int, client: object = None) -> None:
        """Come, and wait if there is no room."""
        self._ends[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._stay(name, size, client))
        await settled()

    async def _stay(self, name: str, size: int, client: object) -> None:
        async with self.room.taken(size, client):
            self.inside.append(name)
            try:
                await self._ends[name].wait()
            finally:
                self.inside.remove(name)

    async def leave(self, *names: str) -> None:
        """End their work."""
        for name in names:
            self._ends[name].set()
        await asyncio.gather(*(self._tasks[name] for name in names))
        await settled()

    async def give_up(self, *names: str) -> None:
        """Cancel them, waiting or inside."""
        for name in names:
            self._tasks[name].cancel()
        await asyncio.gather(*(self._tasks[name] for name in names), return_exceptions=True)
        await settled()


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@asynchronous
async def test_large_requests_wait_for_room_and_small_ones_do_not() -> None:
    here = Visitors()
    await here.come("large", SIZE)
    await here.come("next", SIZE // 2)
    await here.come("small", SIZE // SMALL - 1)
    assert here.inside == ["large", "small"]
    await here.leave("large", "small")
    assert here.inside == ["next"]
    await here.leave("next")


@asynchronous
async def test_a_request_larger_than_the_room_takes_all_of_it() -> None:
    here = Visitors()
    await here.come("half", SIZE // 2)
    await here.come("giant", 10 * SIZE)
    assert here.inside == ["half"]
    await here.leave("half")
    await here.come("next", SIZE // 2)
    assert here.inside == ["giant"]
    await here.leave("giant")
    assert here.inside == ["next"]
    await here.leave("next")


@asynchronous
async def test_clients_take_turns_and_nobody_overtakes() -> None:
    here = Visitors()
    await here.come("first", SIZE)
    for name in ("a1", "a2", "a3"):
        await here.come(name, SIZE * 2 // 3, "a")
    await here.come("b1", SIZE * 2 // 3, "b")
    await here.come("b2", SIZE // 2, "b")
    order: list[str] = []
    while here.inside:
        order += here.inside
        await here.leave(*here.inside)
    assert order == ["first", "a1", "b1", "a2", "b2", "a3"]


@asynchronous
async def test_requests_without_a_client_are_clients_of_their_own() -> None:
    here = Visitors()
    await here.come("first", SIZE)
    for name, client in (("a1", "a"), ("a2", "a"), ("x", None), ("y", None)):
        await here.come(name, SIZE, client)
    order: list[str] = []
    while here.inside:
        order += here.inside
        await here.leave(*here.inside)
    assert order == ["first", "a1", "x", "y", "a2"]


@asynchronous
async def test_who_gives_up_makes_way_for_those_behind() -> None:
    here = Visitors()
    await here.come("half", SIZE // 2)
    await here.come("large", SIZE)
    await here.come("other half", SIZE // 2)
    assert here.inside == ["half"]
    await here.give_up("large")
    assert here.inside == ["half", "other half"]
    await here.give_up("half", "other half")
    await here.come("whole", SIZE)
    assert here.inside == ["whole"]
    await here.leave("whole")


@asynchronous
async def test_who_is_admitted_and_gives_up_at_once_gives_the_room_back() -> None:
    here = Visitors()
    await here.come("first", SIZE)
    await here.come("second", SIZE)
    await here.come("third", SIZE)
    here._ends["first"].set()
    while here.inside:
        await asyncio.sleep(0)
    await here.give_up("second")
    assert here.inside == ["third"]
    await here.leave("third")


@pytest.mark.parametrize("seed", range(20))
@asynchronous
async def test_those_inside_fit_and_everybody_comes_in(seed: int) -> None:
    chooser = Random(seed)
    room, taken, most, done = Room(SIZE), 0, 0, 0

    async def visit(size: int) -> None:
        nonlocal taken, most, done
        async with room.taken(size, chooser.randrange(3)):
            taken += min(size, SIZE)
            most = max(most, taken)
            try:
                for _ in range(chooser.randrange(4)):
                    await asyncio.sleep(0)
            finally:
                taken -= min(size, SIZE)
        done += 1

    sizes = [chooser.randrange(SIZE // SMALL, SIZE // 10) for _ in range(50)]
    sizes += [SIZE + 10]
    tasks = [asyncio.create_task(visit(size)) for size in sizes]
    await settled()
    given_up = [task for task in chooser.sample(tasks, 10) if task.cancel()]
    await asyncio.wait(tasks)
    assert most <= SIZE
    assert done == len(tasks) - sum(task.cancelled() for task in given_up)
    async with asyncio.timeout(1), room.taken(SIZE):
        pass


@asynchronous
async def test_a_line_that_is_too_long_grows_no_longer() -> None:
    here = Visitors()
    names = [str(number) for number in range(MAX_WAITING + 1)]
    for name in names:
        await here.come(name, SIZE, name)
    with pytest.raises(QueueFullError, match="too many large requests wait"):
        async with here.room.taken(SIZE):
            pass
    await here.come("small", SIZE // SMALL - 1)
    assert here.inside == ["0", "small"]
    await here.give_up("2")
    await here.come("instead", SIZE)
    await here.leave("small", *names[:2], *names[3:], "instead")


@asynchronous
async def test_a_thread_that_nobody_waits_for_holds_the_room_until_it_ends() -> None:
    """What it works on takes memory."""
    room, begun, may_end = Room(SIZE), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        may_end.wait(10)

    async def visit() -> None:
        async with room.taken(SIZE):
            await in_thread(work)

    visitor = asyncio.create_task(visit())
    while not begun.is_set():
        await asyncio.sleep(0.001)
    visitor.cancel()
    await asyncio.wait([visitor])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), room.taken(SIZE):
            pass
    may_end.set()
    async with asyncio.timeout(5), room.taken(SIZE):
        pass


@asynchronous
async def test_threads_that_have_ended_hold_nothing() -> None:
    room = Room(SIZE)
    async with room.taken(SIZE):
        await asyncio.gather(*(in_thread(lambda: None) for _ in range(5)))
    async with asyncio.timeout(0.05), room.taken(SIZE):
        pass


@asynchronous
async def test_memory_is_cleaned_up_after_a_very_large_request() -> None:
    cleaned = threading.Event()
    room = Room(SIZE, clean_up=cleaned.set)
    async with room.taken(SIZE // VERY_LARGE - 1):
        pass
    await asyncio.get_running_loop().run_in_executor(None, lambda: None)
    assert not cleaned.is_set()
    async with room.taken(SIZE // VERY_LARGE):
        assert not cleaned.is_set()
    assert await asyncio.to_thread(cleaned.wait, 10)
