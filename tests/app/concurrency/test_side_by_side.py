import asyncio

import pytest

from app.concurrency.coroutines import side_by_side


async def _after(turns: int, result: int | Exception, ended: list[int] | None = None) -> int:
    try:
        for _ in range(turns):
            await asyncio.sleep(0)
    except asyncio.CancelledError:
        if ended is not None:
            ended.append(turns)
        raise
    if isinstance(result, Exception):
        raise result
    return result


@pytest.mark.parametrize("turns", [[], [2], [3, 1, 2]])
async def test_results_are_in_order(turns: list[int]) -> None:
    assert await side_by_side(_after(turn, 10 * turn) for turn in turns) == [
        10 * turn for turn in turns
    ]


async def test_the_first_to_fail_ends_the_others_and_keeps_its_cause() -> None:
    failure = ValueError("bare, not in a group")
    failure.__cause__ = OSError()
    ended: list[int] = []
    with pytest.raises(ValueError, match="bare") as raised:
        await side_by_side([_after(9, 1, ended), _after(1, failure), _after(8, 2, ended)])
    assert raised.value is failure
    assert isinstance(raised.value.__cause__, OSError)
    assert sorted(ended) == [8, 9]


async def test_cancelling_ends_all() -> None:
    ended: list[int] = []
    task = asyncio.create_task(side_by_side([_after(99, 1, ended), _after(98, 2, ended)]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(ended) == [98, 99]
