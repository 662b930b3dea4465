import asyncio
import time

from app.concurrency.coroutines import SHARE, turn_of_the_loop


async def most_in_an_iteration(n_callers: int, seconds: float) -> int:
    """How many callers of so long work went on in one iteration of the loop."""
    went_on = 0

    async def call() -> None:
        nonlocal went_on
        await turn_of_the_loop()
        went_on += 1
        time.sleep(seconds)

    callers = [asyncio.create_task(call()) for _ in range(n_callers)]
    most = before = 0
    while not all(caller.done() for caller in callers):
        await asyncio.sleep(0)
        most = max(most, went_on - before)
        before = went_on
    assert went_on == n_callers
    return most


async def test_long_callers_go_on_in_different_iterations() -> None:
    assert await most_in_an_iteration(10, 1.1 * SHARE) == 1


async def test_a_few_fit_into_one_iteration() -> None:
    assert 2 <= await most_in_an_iteration(12, SHARE / 3) <= 4


async def test_a_cancelled_caller_delays_nobody() -> None:
    waiting = [asyncio.create_task(turn_of_the_loop()) for _ in range(3)]
    waiting[0].cancel()
    waiting[1].cancel()
    async with asyncio.timeout(1):
        await asyncio.gather(*waiting, return_exceptions=True)
        await turn_of_the_loop()
    assert [one.cancelled() for one in waiting] == [True, True, False]
