from __future__ import annotations

import asyncio

from app.concurrency.loop_turns import own_iteration
from tests.app.asynchronous import asynchronous


@asynchronous
async def test_callers_go_on_in_different_iterations_and_in_order() -> None:
    iteration = 0
    over = False

    async def count() -> None:
        nonlocal iteration
        while not over:
            iteration += 1
            await asyncio.sleep(0)

    went_on: list[tuple[int, int]] = []

    async def call(number: int) -> None:
        await own_iteration()
        went_on.append((iteration, number))

    counting = asyncio.create_task(count())
    await asyncio.gather(*(call(number) for number in range(20)))
    over = True
    await counting
    assert [number for _, number in went_on] == list(range(20))
    assert len({at for at, _ in went_on}) == 20


@asynchronous
async def test_a_caller_that_gives_up_holds_up_nobody() -> None:
    waiting = [asyncio.create_task(own_iteration()) for _ in range(3)]
    waiting[0].cancel()
    waiting[1].cancel()
    async with asyncio.timeout(1):
        await asyncio.gather(*waiting, return_exceptions=True)
        await own_iteration()
    assert [one.cancelled() for one in waiting] == [True, True, False]
