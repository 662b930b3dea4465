import asyncio

import pytest

from app.concurrency.coroutines import Coalesced


async def test_concurrent_callers_share_a_call_and_later_ones_do_not() -> None:
    n_calls = 0

    def count() -> int:
        nonlocal n_calls
        n_calls += 1
        return n_calls

    counts = Coalesced[int]()
    assert await asyncio.gather(*(counts.call("a", count) for _ in range(5))) == [1] * 5
    assert await counts.call("a", count) == 2
    assert await asyncio.gather(*(counts.call(key, count) for key in "ab")) == [3, 4]


async def test_all_get_its_error_and_a_cancelled_caller_does_not_affect_the_others() -> None:
    def fail() -> int:
        raise ValueError("no")

    counts = Coalesced[int]()
    first, second, third = (asyncio.create_task(counts.call("a", fail)) for _ in range(3))
    await asyncio.sleep(0)
    first.cancel()
    for task in (second, third):
        with pytest.raises(ValueError, match="no"):
            await task
    assert first.cancelled()
