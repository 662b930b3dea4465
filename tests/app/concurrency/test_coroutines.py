import asyncio
import threading
from functools import partial

import pytest

from app.concurrency.coroutines import AT_A_TIME, SHARE, Callbacks, side_by_side, turn_of_the_loop


async def max_per_iteration(n_callers: int, seconds: float) -> int:
    """Return how many callers with this amount of work continue in one iteration.

    The loop's clock counts that work alone, so that no other work of the machine counts.
    """
    loop = asyncio.get_running_loop()
    now = loop.time()
    n_continued = 0

    async def call() -> None:
        nonlocal n_continued, now
        await turn_of_the_loop()
        n_continued += 1
        now += seconds

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "time", lambda: now)
        callers = [asyncio.create_task(call()) for _ in range(n_callers)]
        most = before = 0
        while not all(caller.done() for caller in callers):
            await asyncio.sleep(0)
            most = max(most, n_continued - before)
            before = n_continued
    assert n_continued == n_callers
    return most


async def test_long_callers_go_on_in_different_iterations() -> None:
    assert await max_per_iteration(10, 1.1 * SHARE) == 1


async def test_a_few_fit_into_one_iteration() -> None:
    assert await max_per_iteration(12, 0.4 * SHARE) == 3


async def test_a_cancelled_caller_delays_no_other() -> None:
    waiting = [asyncio.create_task(turn_of_the_loop()) for _ in range(3)]
    waiting[0].cancel()
    waiting[1].cancel()
    async with asyncio.timeout(60):
        await asyncio.gather(*waiting, return_exceptions=True)
        await turn_of_the_loop()
    assert [one.cancelled() for one in waiting] == [True, True, False]


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


N = 3 * AT_A_TIME + 1


async def test_calls_are_made_in_order_from_any_thread() -> None:
    callbacks = Callbacks(asyncio.get_running_loop())
    made: list[int] = []
    done = asyncio.Event()
    put = [[partial(made.append, i)] for i in range(N)]

    def engine() -> None:
        for calls in put:
            callbacks.put(calls)
        callbacks.put([])
        callbacks.put([done.set])

    thread = threading.Thread(target=engine)
    thread.start()
    await done.wait()
    thread.join()
    assert made == list(range(N))


@pytest.mark.parametrize("n_puts", [1, 5])
async def test_the_loop_has_its_turn_between_a_few_of_them(n_puts: int) -> None:
    loop = asyncio.get_running_loop()
    callbacks = Callbacks(loop)
    made: list[int] = []
    turns: list[int] = []

    def turn() -> None:
        turns.append(len(made))
        if len(made) < N:
            loop.call_soon(turn)

    calls = [partial(made.append, i) for i in range(N)]
    for first in range(n_puts):
        callbacks.put(calls[first::n_puts])
    loop.call_soon(turn)
    while len(made) < N:
        await asyncio.sleep(0)
    assert turns[:3] == [AT_A_TIME, 2 * AT_A_TIME, 3 * AT_A_TIME]


async def test_a_failing_call_does_not_prevent_the_others() -> None:
    loop = asyncio.get_running_loop()
    raised: list[object] = []
    loop.set_exception_handler(lambda _, context: raised.append(context["exception"]))
    callbacks = Callbacks(loop)
    done = asyncio.Event()
    error = ValueError("no")

    def fail() -> None:
        raise error

    callbacks.put([fail, done.set])
    await done.wait()
    assert raised == [error]


def test_items_after_the_end_are_dropped(recwarn: pytest.WarningsRecorder) -> None:
    loop = asyncio.new_event_loop()
    callbacks = Callbacks(loop)
    loop.close()
    callbacks.put([lambda: pytest.fail("was made")])
    assert not recwarn
